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
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace railhead::spank {

class Companion {
 public:
    /// Made in slurmstepd, before the tasks are forked.  `words` are the program and its arguments,
    /// `environment` all its NAME=VALUE.  `wants_pid`: --pid is told.
    /// Fails with `unavailable` where there is no socket.
    [[nodiscard]] static Result<Companion> make(std::vector<std::string> words,
                                                std::vector<std::string> environment,
                                                bool wants_pid);

    /// In the first task's process: starts the program with "--end-fd FD", and "--pid PID" of the
    /// task where wanted, at the end of its arguments.  It has the step's standard error, no other descriptor
    /// but FD, all signals blocked, and "/" for its folder.
    /// Fails with `unavailable` where there is no process; not where there is no such program.
    [[nodiscard]] Result<void> start() const;

    /// In slurmstepd, after the last task: tells the program to end, and waits for it until
    /// `limit`.
    void finish(std::chrono::milliseconds limit);

 private:
    Companion(std::vector<std::string> words, std::vector<std::string> environment,
              bool wants_pid, UniqueFd ours, UniqueFd theirs)
        : words_{std::move(words)},
          environment_{std::move(environment)},
          wants_pid_{wants_pid},
          ours_{std::move(ours)},
          theirs_{std::move(theirs)} {}

    std::vector<std::string> words_, environment_;
    bool wants_pid_;
    UniqueFd ours_, theirs_;  ///< both are closed by exec in the tasks
};

}  // namespace railhead::spank
