// The variables by which a job hears of checkpoints.
//
// What a user sets of the first group is a wish, read at submission and at launch; a trainer finds
// in the same variable what holds.  The second group tells, and what a user writes there is
// replaced.
#pragma once

#include <array>

namespace railhead::checkpoint::variable {

// Wishes, each with an option of its own: --ckpt-interval, --ckpt-signal, --ckpt-dir.
inline constexpr const char* interval = "RAILHEAD_CKPT_INTERVAL";  ///< seconds
inline constexpr const char* signal = "RAILHEAD_CKPT_SIGNAL";  ///< as parse_signal_wish() reads it
inline constexpr const char* folder = "RAILHEAD_CKPT_DIR";
/// Wishes without an option: what a checkpoint and a step take, in seconds.
inline constexpr const char* cost = "RAILHEAD_CKPT_COST";
inline constexpr const char* step = "RAILHEAD_CKPT_STEP";

// Told.
inline constexpr const char* source =
    "RAILHEAD_CKPT_FROM";  ///< whose interval: user, history, policy, default
inline constexpr const char* mtbf = "RAILHEAD_CKPT_MTBF";  ///< seconds, of the nodes there are
inline constexpr const char* lead = "RAILHEAD_CKPT_LEAD";  ///< seconds, for the last checkpoint
inline constexpr const char* deadline =
    "RAILHEAD_CKPT_DEADLINE";  ///< of its start, seconds since 1970
inline constexpr const char* restarts =
    "RAILHEAD_CKPT_RESTARTS";  ///< how often the job was requeued
/// Failures per 1000 node-days, by which a step with other nodes reckons anew.
inline constexpr const char* rate = "RAILHEAD_CKPT_RATE";
/// Of this plugin to itself: "JOB:EPOCH", when a job ends, so that it is asked once; 0: never.
inline constexpr const char* job_end = "RAILHEAD_CKPT_JOB_END";
/// Of this plugin to itself: the job whose watcher runs already.
inline constexpr const char* watched = "RAILHEAD_CKPT_WATCHED";

}  // namespace railhead::checkpoint::variable

/// The values of RAILHEAD_CKPT_FROM.
namespace railhead::checkpoint::from {

inline constexpr const char* user = "user";        ///< the interval is the user's own
inline constexpr const char* history = "history";  ///< the cost is that of earlier jobs of this name
inline constexpr const char* policy = "policy";
inline constexpr const char* usual = "default";

}  // namespace railhead::checkpoint::from
