// Work done in a process of its own, with a time limit.
//
// For what may hang, crash or leave threads behind in a daemon: a library that looks at hardware,
// a driver that waits for its firmware.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace railhead {

/// What `work` returns in a forked child, which has no standard input and output.  `work` must not
/// return an empty text; an exception that leaves it ends the child.
///
/// Fails with `unavailable` when no child can be made, it ends without an answer, or the limit
/// passes; `what` is whose answer was missing: "this node's hardware".  Safe to call in a process
/// with several threads; no other thread may wait for any child (waitpid(-1)) meanwhile.
[[nodiscard]] Result<std::string> run_in_child(const std::function<std::string()>& work,
                                               std::string_view what,
                                               std::chrono::milliseconds limit);

}  // namespace railhead
