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
    std::uint32_t restarts = 0;
    std::optional<double> submitted_s;  ///< of a requeued job: when it was requeued
};

/// Reads what "scontrol show job" prints.  Lines that begin with a user's text are not read.
[[nodiscard]] JobState parse_job_state(const std::string& text);

class SlurmJob {
 public:
    /// The job of this process's environment: of an array its one task, "10_3", since the plain
    /// number may stand for the whole array.
    explicit SlurmJob(std::uint32_t job);

    using Limit = std::chrono::milliseconds;
    [[nodiscard]] Result<JobState> look(Limit limit) const;
    /// Whether a node of the job is down, by the environment's list of them.
    [[nodiscard]] bool has_dead_node(Limit limit) const;
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
