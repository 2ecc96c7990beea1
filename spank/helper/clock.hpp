// railhead-ckpt clock: tells the tasks of one node by a signal when to checkpoint.
//
// Asleep but for ticks, it wakes when one is due, when the wall clock is set, when Slurm signals
// the step, and when the tasks have ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::helper {

/// Whom the clock signals, among the processes of its node.
enum class Below : std::uint8_t {
    tasks,       ///< every task, or what it launched
    first_task,  ///< the first task, or the first of what it launched
    script,      ///< the batch script, or what it launched
    in_script    ///< what the batch script launched without srun; itself not: its traps are its own
};

struct ClockOptions {
    std::uint32_t job = 0;
    int signal = 0;
    Below below = Below::tasks;
    std::int64_t interval_s = 0;             ///< 0: no ticks
    std::int64_t lead_s = 0;                 ///< from the deadline to the end of the job
    std::optional<std::int64_t> deadline_s;  ///< since 1970
    bool knows_end = false;                  ///< also where there is none
    pid_t pid = 0;                           ///< of the node's first task
    pid_t parent = 0;                        ///< slurmstepd, whose children all tasks are
    int end_fd = -1;                         ///< at whose end the step has ended
    std::string node;                        ///< its name, where the step has several; else ""
    bool speaks = false;          ///< tells of tasks that do not catch the signal: one node does
    std::string scontrol;         ///< asks it for the job's end; "": another node does
    std::int64_t reread_s = 300;  ///< how often
};

/// Fails with `bad_input` on what the plugin would never write.
[[nodiscard]] Result<ClockOptions> parse_clock_options(const std::vector<std::string>& words);

/// Runs until the tasks have ended; gives the exit status.
[[nodiscard]] int run_clock(const ClockOptions& options);

}  // namespace railhead::helper
