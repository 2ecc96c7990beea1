// A program of ours that lives as long as a step's tasks on one node.
//
// slurmstepd has to stay free of threads and loops of ours, and what it forks by itself lies
// outside of the step.  So the first task's process starts the program, between its fork and its
// exec, as a sister of the tasks: a child of slurmstepd.  The task's own program never sees it,
// Slurm's process tracking does, and kills it with the step.
//
// Its end is told through a socket.  slurmstepd closes its side at the last task's end, or by
// dying, and then waits a moment for the program to be gone: what the program still says has its
// place before the step's end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace railhead::spank {

class Companion {
 public:
    /// Made in slurmstepd, before the tasks are forked.  Fails with `unavailable` where there is no
    /// socket.
    [[nodiscard]] static Result<Companion> make();

    /// In the first task's process: starts the program.  `words` are the program and its arguments,
    /// to which "--end-fd FD" is added; `environment` is all its NAME=VALUE.  It has the step's
    /// standard error, no other descriptor but FD, all signals blocked, and "/" for its folder.
    /// Fails with `unavailable` where there is no process; not where there is no such program.
    [[nodiscard]] Result<void> start(std::vector<std::string> words,
                                     const std::vector<std::string>& environment) const;

    /// In a task's process: why a program that it starts would not be a process beside it, but in a
    /// PID namespace of its own.  As the first process there it would be needed by all others that
    /// the task starts.  Nothing: it would be.
    [[nodiscard]] static std::optional<std::string> obstacle();

    /// In slurmstepd, after the last task: tells the program to end.
    void end();
    /// Returns when it has ended, at the latest at `until`.  It is then no child of slurmstepd's any
    /// more: while there is one in the step, proctrack/cgroup waits for another second.
    void wait(std::chrono::steady_clock::time_point until);

 private:
    Companion(UniqueFd ours, UniqueFd theirs) : ours_{std::move(ours)}, theirs_{std::move(theirs)} {}

    UniqueFd ours_, theirs_;  ///< both are closed by exec in the tasks
    pid_t sister_ = 0;        ///< the program, once the first task has told; 0: no child of ours
};

}  // namespace railhead::spank
