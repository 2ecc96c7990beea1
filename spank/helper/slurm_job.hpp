// What the watcher asks and tells slurmctld of its own job, with Slurm's own commands.
//
// At most once at the start and once at the end of an attempt, and when it holds or frees the job.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "checkpoint/attempts.hpp"

namespace railhead::helper {

/// Fields of "scontrol show job".
struct JobState {
    std::string state, reason, exit_code, comment;
    std::string worst_step;  ///< the exit code of the step that failed worst
    std::string node_list;   ///< of a job that is completing: those that have not ended it
    std::string batch_host;
    std::uint32_t restarts = 0;
    bool can_requeue = true;
    std::optional<double> submitted_s;  ///< of a requeued job: when it was requeued
};

/// Reads what "scontrol show job --details" prints.  Lines that begin with a user's text are not
/// read.
[[nodiscard]] JobState parse_job_state(const std::string& text);

/// The latest BootTime in what "scontrol show node" prints; nothing where it has none.
[[nodiscard]] std::optional<double> latest_boot_s(const std::string& text);

/// Whether slurmctld waits no longer for the node of the batch step, which runs on it still: it has
/// failed, though it may be back already.
[[nodiscard]] bool has_lost_batch_host(const JobState& job);

class SlurmJob {
 public:
    /// The job of this process's environment: of an array its one task, "10_3", since the plain
    /// number may stand for the whole array.
    explicit SlurmJob(std::uint32_t job);

    using Limit = std::chrono::milliseconds;
    [[nodiscard]] Result<JobState> look(Limit limit) const;
    /// Whether a node of the job is down, by the environment's list of them.
    [[nodiscard]] bool has_dead_node(Limit limit) const;
    /// Whether one of these nodes ("n[1-4]") was booted later than `since_s`.
    [[nodiscard]] static bool has_rebooted_node(const std::string& nodes, double since_s,
                                                Limit limit);
    /// Whether jobs of this cluster are never preempted; false where that is not known.
    [[nodiscard]] static bool is_without_preemption(Limit limit);
    /// How an attempt ended, as accounting has it; nothing where there is no accounting.
    [[nodiscard]] std::optional<checkpoint::Cause> ended_by(std::uint32_t restarts,
                                                            Limit limit) const;

    [[nodiscard]] Result<void> hold() const;
    [[nodiscard]] Result<void> release() const;
    [[nodiscard]] Result<void> set_comment(const std::string& comment) const;

    [[nodiscard]] const std::string& name() const { return name_; }

 private:
    std::string name_;
};

}  // namespace railhead::helper
