// Which processes get a checkpoint's signal: those that catch it, and of a family only the eldest.
//
// The default action of most signals ends a process, so one that does not catch it is never
// signalled.  A launcher between Slurm and the ranks (a shell, torchrun) is looked through, to the
// first below it that catches.  What such a one has forked since, as data loaders, has inherited
// that it catches, but not what to do: it gets nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::checkpoint {

/// What /proc/PID/status says of a process.
struct ProcessStatus {
    std::string name;  ///< of the program, cut to 15 characters
    pid_t parent = 0;
    std::uint64_t caught = 0;  ///< bit n - 1 stands for signal n
    /// PID namespaces that it has a number in, from that of /proc down; 0 before Linux 4.1.
    std::uint32_t namespaces = 0;
    [[nodiscard]] bool catches(int signal) const;
};

/// Nothing where the text lacks a field, as that of a process that is just ending.
[[nodiscard]] std::optional<ProcessStatus> parse_process_status(std::string_view text);

/// A view of the processes there are; tests have one of their own.
struct ProcessView {
    std::function<std::optional<ProcessStatus>(pid_t)> status;
    std::function<std::vector<pid_t>(pid_t)> children;
};

/// What a search below one process found.
struct Catching {
    std::vector<pid_t> pids;
    bool has_step = false;  ///< an srun: its step has a clock of its own
    std::string name;       ///< of the process that the search began at; "": it is gone
};

/// Looks from `root` down.  `with_root` false: only below it.
[[nodiscard]] Catching find_catching(const ProcessView& view, pid_t root, int signal,
                                     bool with_root);

}  // namespace railhead::checkpoint
