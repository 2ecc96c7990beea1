// When a gang checkpoints: what slurmctld's plugin writes at submission, and the nodes reckon anew
// at launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace railhead::checkpoint {

/// Figures that stand in where nobody says better; each a guess or published, as its source says.
struct Usual {
    double per_1000_node_days = 0;
    double cost_s = 0, step_s = 0, restart_s = 0;
};
[[nodiscard]] const Usual& usual();

struct ScheduleFacts {
    double per_1000_node_days = 0;  ///< failures
    std::uint64_t nodes = 0;        ///< those that the gang has now
    double cost_s = 0;              ///< training stands still for one checkpoint
    double step_s = 0;              ///< one step of training
    double restart_s = 0;
    std::optional<double> own_interval_s;  ///< the user's; kept as it is
};

struct Schedule {
    double mtbf_s = 0;
    double optimum_s = 0;  ///< the interval of the least wall time
    double interval_s =
        0;  ///< in force: the user's own, else the optimum, at least one step and one second
    double lead_s = 0;  ///< before the end of the job, for the last checkpoint
};

/// Slurm's signal may come up to a minute early, and its field holds 16 bits.
inline constexpr double slurm_early_s = 60;
inline constexpr double most_lead_s = 65535;

/// The lead is cost + step + slurm_early_s, at most most_lead_s.
/// Fails with `bad_input` where a figure is out of the models' range.
[[nodiscard]] Result<Schedule> make_schedule(const ScheduleFacts& facts);

}  // namespace railhead::checkpoint
