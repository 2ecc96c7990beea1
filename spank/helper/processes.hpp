// The processes of a step on this node: what the kernel says of them, and how one is signalled.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/file.hpp"
#include "checkpoint/targets.hpp"

namespace railhead::helper {

/// /proc as it is now.
[[nodiscard]] checkpoint::ProcessView process_view();

/// A descriptor of the process, readable once it has ended; empty where there is none such, or the
/// kernel (before 5.3) has no such descriptors.
[[nodiscard]] UniqueFd open_process(pid_t pid);

/// A process that was running when it was first looked at, and not another that has its number since.
class Process {
 public:
    Process() = default;
    explicit Process(pid_t pid) : pid_{pid}, end_{open_process(pid)} {}

    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Where the kernel has no descriptors for it (before 5.3), whether its number is in use.
    [[nodiscard]] bool runs() const;

 private:
    pid_t pid_ = 0;
    UniqueFd end_;
};

enum class Sent : std::uint8_t { yes, not_caught, gone };

/// Signals the process if it still catches the signal.  A process that has got the number since is
/// not signalled: the descriptor is opened before the look.
[[nodiscard]] Sent signal_if_caught(const checkpoint::ProcessView& view, pid_t pid, int signal);

/// Whether /proc numbers processes as the kernel does for us.  It does not where the PID namespace
/// was changed and /proc not mounted anew: who has a number there need not be whom we would signal.
[[nodiscard]] bool is_own_proc();

}  // namespace railhead::helper
