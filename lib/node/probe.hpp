// Looks at this machine, or at a recorded one, from a process of its own and with a time limit.
//
// hwloc has hung at job launch on real machines, opens the libraries of every plugin it finds, and
// reads its settings from the environment.  None of that may happen in slurmstepd.  So a child is
// forked that runs hwloc in a clean environment, hands the Node back through a pipe and ends; the
// caller gets no library, no thread, no changed environment and no wait beyond the limit.  A child
// that crashes is an error like any other.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "node/node.hpp"
#include "node/read_node.hpp"

namespace railhead::node {

struct ProbeOptions {
    std::string file{};  ///< of a recorded node, of any kind of read_node.hpp; empty: this machine
    std::optional<std::string> text{};      ///< what is in `file`, where it was read already
    SourceKind kind = SourceKind::unknown;  ///< of `file`; unknown: what its content shows
    std::string root = "/";  ///< below it lie the machine's sys and proc, which fill in the rest
    bool as_nobody = false;  ///< where we are root, the child is not: it looks as uid 65534
    std::chrono::milliseconds limit{5000};
    /// Where root acts on what the file says: it must pass read_trusted_file() with this owner.
    std::optional<uid_t> owner{};
};

/// The Node, with `source` "live" or the file's name.
///
/// Fails as read_hwloc(), read_file() and parse_node() do, with `not_found` for this machine where
/// no sys lies below the root (hwloc would take its own CPUs for those of another), and with
/// `unavailable` when the limit passes or the child ends without an answer;
/// `unsupported` when it cannot be nobody.  Safe to call in a
/// process with several threads; no other thread may wait for any child (waitpid(-1)) meanwhile.
[[nodiscard]] Result<Node> probe(const ProbeOptions& options);

}  // namespace railhead::node
