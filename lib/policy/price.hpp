// What waiting for the least leaves is worth, in time.
//
// A job on more leaves than it must runs longer; a job that waits for the least starts later.  So
// it may wait as long as the wider span would cost it: wait = slowdown x run time.  Where the span
// costs nothing, so does no wait: the job is left to stock Slurm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/cluster.hpp"
#include "job/request.hpp"
#include "policy/settings.hpp"

namespace railhead::policy {

/// The slowdown that is assumed a level where the policy says nothing: a guess.  It lies between
/// what is published: none on a fabric that is not oversubscribed (Sia, SOSP '23: DGX A100 with
/// InfiniBand, spread over packed 0.88 to 1.01), 5 % where fragmented racks give all-reduce 30 %
/// less bandwidth (Gangidi et al., SIGCOMM '24) and 12 % of a step is communication that is not
/// hidden, and 11 % of a GPT on 64 GPUs whose uplinks are shared (Crux, SIGCOMM '24).
constexpr double guessed_slowdown = 0.05;

/// The share by which a job slows that spans more switches of a level than it must; level 0 is the
/// leaves, what lies above the last level written is as that one.
///
/// With c the share of a step's time that is communication and not hidden, and that part taken as
/// inverse to bandwidth: c x (B0/B - 1) from the bus bandwidths B0 within a leaf and B across the
/// level, c x (o - 1) from an oversubscription o to 1 that all nodes load at once.  The latter is
/// the worst case: what shares the uplink with others alone is slowed less.
[[nodiscard]] double slowdown_at(const Price& price, double communication, std::size_t level);

enum class RunTimeFrom : std::uint8_t { time_limit, default_time, max_time, policy };

/// How long the job is taken to run.
struct RunTime {
    std::uint64_t seconds = 0;
    RunTimeFrom from = RunTimeFrom::policy;
};

/// The job's time limit, else the partition's DefaultTime, else its MaxTime, else what the policy
/// assumes; UNLIMITED counts as not said.  `partition` may be null.
[[nodiscard]] RunTime run_time_of(const job::JobRequest& request,
                                  const fabric::Partition* partition,
                                  const PlacementSettings& settings);

/// A priced wait, and what it was made of.
struct Wait {
    Price price;
    double communication = 0;        ///< as in the settings
    double slowdown = 0;             ///< of the next wider span; 0 where there is no price
    RunTime run_time;
    double times = 1;                ///< how many times the price: more for a job smaller than a leaf
    std::uint32_t wanted_s = 0;      ///< by the policy; 0: nothing is to be waited for
    std::uint32_t in_force_s = 0;    ///< what Slurm makes of it: max_switch_wait cuts it
};

/// The price of the least leaves.  Of a deeper tree only the leaf level counts: --switches waits
/// for leaves and promises nothing of the switches above them.
///
/// A job smaller than a leaf may wait `below_leaf` times the price: room for it comes soon, so it
/// seldom waits so long, while Slurm counts its time in the queue as well.  docs/placement.md has
/// the measurements.
[[nodiscard]] Wait price_wait(const PlacementSettings& settings, RunTime run_time,
                              bool smaller_than_a_leaf, std::uint32_t max_switch_wait_s);

/// The longest wait that any job of `partition` can be given.
[[nodiscard]] std::uint32_t longest_wait_s(const PlacementSettings& settings,
                                           const fabric::Partition& partition);

/// "slowdown", "bus_bandwidth", …: the key of the policy; "guess" where there is none.
[[nodiscard]] std::string_view to_string(PriceFrom from);
/// "time limit", "DefaultTime", "MaxTime", "run_time of the policy".
[[nodiscard]] std::string_view to_string(RunTimeFrom from);

/// "6 %", "0.5 %": a share as people write it.
[[nodiscard]] std::string percent_text(double share);

}  // namespace railhead::policy
