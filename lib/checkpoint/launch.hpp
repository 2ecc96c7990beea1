// What a step's tasks are told of checkpoints when they start, reckoned with the nodes there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/schedule.hpp"

namespace railhead::checkpoint {

/// Figures of the schedule that somebody knows.
struct Known {
    std::optional<double> per_1000_node_days, cost_s, step_s, restart_s;
};

struct LaunchFacts {
    std::uint64_t nodes = 1;  ///< of the step; of the job, for its batch step
    std::optional<double> own_interval_s;
    Known job;     ///< in its environment: the user's word, or what was told at submission
    Known policy;  ///< the site's, as this node has it
    bool cost_is_measured = false;      ///< the job's: by earlier jobs of the same name
    bool told_by_policy = false;        ///< what was told at submission came of the site's figures
    std::optional<std::int64_t> end_s;  ///< of the job, since 1970
    std::int64_t now_s = 0;
    std::uint32_t restarts = 0;
};

/// Whole seconds, as variables have them.
struct Launch {
    std::int64_t interval_s = 0, mtbf_s = 0, lead_s = 0;
    std::optional<std::int64_t> deadline_s;     ///< as first_deadline_s() has it
    double per_1000_node_days = 0, cost_s = 0;  ///< by which it was reckoned
    std::string_view source;                    ///< a word of namespace from
    std::uint32_t restarts = 0;
};

/// Of each figure the first counts that is known: cost and step by the job, the policy, as usual;
/// the rate by the policy before the job, where it came from another machine's policy.
/// Fails as make_schedule().
[[nodiscard]] Result<Launch> plan_launch(const LaunchFacts& facts);

/// A variable and its value; nothing: it is taken away.
using Setting = std::pair<std::string, std::optional<std::string>>;

/// All that is told; what a step around this one was told is replaced.
[[nodiscard]] std::vector<Setting> launch_variables(const Launch& launch);
/// Takes away all that was told.
[[nodiscard]] std::vector<Setting> no_launch_variables();

/// The value of RAILHEAD_CKPT_JOB_END; an end of 0: the job has none.
[[nodiscard]] std::string write_job_end(std::uint32_t job, std::optional<std::int64_t> end_s);

/// What such a value says of the job: its end, or that it has none (0); nothing where it is
/// another's, or no such value.
[[nodiscard]] std::optional<std::int64_t> read_job_end(std::string_view value, std::uint32_t job);

}  // namespace railhead::checkpoint
