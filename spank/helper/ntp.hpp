// Whether this node's wall clock goes with those of other nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace railhead::helper {

/// What to tell a job where the kernel says that nobody keeps this node's clock synchronised: once, not
/// at each step.  A file of the user's in `folder`, one a node, names the last job that was told.
/// Nothing where all is well, or it was.
[[nodiscard]] std::optional<std::string> clock_warning(std::uint32_t job, const std::string& node,
                                                       const std::string& folder = "/tmp");

}  // namespace railhead::helper
