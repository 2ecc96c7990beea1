// The checks of the gate, a file a group, and what they share.  For files of the gate alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/gate.hpp"

namespace railhead::diagnose {

/// A default, and why it is that.
struct GateDefault {
    double value = 0;
    std::string_view source;
};

enum class AimText : std::uint8_t { share, time, times };

/// The site's target, else the default.
[[nodiscard]] GateAim make_aim(const std::optional<policy::GateTarget>& site,
                               const GateDefault& usual, bool is_least, AimText text);

/// A check that nothing is known of yet.
[[nodiscard]] GateCheck make_check(GateGroup group, std::string_view id, std::string_view what,
                                   GateUnit unit, GateAim aim = {});

/// Compares `value` with the aim, and says it as `measured`.
void judge(GateCheck& check, double value, std::string measured, std::string from);

/// "38.4 %"
[[nodiscard]] std::string percent_text(double share);
/// "45 s", "4.5 min", "2.1 h"
[[nodiscard]] std::string span_text(double seconds);

/// Attempts of the jobs that were asked for; of all where none was.
[[nodiscard]] bool is_asked(const GateQuestion& question, const JobAttempt& attempt);

/// The time that the records are of.
struct GateWindow {
    std::int64_t begin_s = 0, end_s = 0;
    std::string from;  ///< "sacct, 7 d": for GateCheck
};
/// Nothing where no job ran in the records.
[[nodiscard]] std::optional<GateWindow> find_window(const GateQuestion& question);

/// Commands whose output tells what is missing.
[[nodiscard]] std::vector<std::string> records_commands();

/// What a checkpoint costs, how often one is written, and where each is from.
struct CheckpointFigures {
    std::optional<double> cost_s, interval_s;
    std::string cost_from, interval_from;
};
[[nodiscard]] CheckpointFigures find_checkpoints(const GateQuestion& question);

[[nodiscard]] GateCheck check_mfu(const GateQuestion& question);
[[nodiscard]] GateCheck check_all_reduce(const GateQuestion& question);
/// The interval, recovery, completion.
void check_failures(const GateQuestion& question, std::vector<GateCheck>& checks);
/// Idle time, utilization, backfill, gangs.
void check_scheduling(const GateQuestion& question, std::vector<GateCheck>& checks);
/// Checkpoints, the loader.
void check_storage(const GateQuestion& question, std::vector<GateCheck>& checks);

}  // namespace railhead::diagnose
