// Takes a node out of service through scontrol.
#pragma once

#include <string>

#include "base/error.hpp"

namespace railhead::cli {

/// scontrol at one of the places where it is installed.  PATH is not asked: root runs what is
/// found.  Fails with `not_found`.
[[nodiscard]] Result<std::string> find_scontrol();

/// Drains `node` for `reason`, and says what became of it: "n01 drained", or "n01 is drained
/// already" where anybody has drained it before, whose reason then stays.
/// Fails as output_of() does, within four seconds, and with `bad_input` for what cannot be a node.
[[nodiscard]] Result<std::string> drain_node(const std::string& scontrol, const std::string& node,
                                             const std::string& reason);

}  // namespace railhead::cli
