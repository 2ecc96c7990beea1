// RAILHEAD_SET: which variables a step of ours set, so that a step inside knows them from the
// user's.
//
//     RAILHEAD_SET=NCCL_IB_HCA:5f0c3a91,UCX_NET_DEVICES:1d20be77
//
// A step inherits the environment of the step around it, which may run on another type of node or
// have other GPUs.  A variable counts as ours as long as its value is the one that we set: only a
// hash of it is kept, so that the environment stays small.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rails/node_type.hpp"

namespace railhead::rails {

/// Looks a variable up in the task's environment.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

inline constexpr std::string_view own_marks = "RAILHEAD_SET";

/// The value of RAILHEAD_SET for these variables; empty for none.
[[nodiscard]] std::string mark(const std::vector<Setting>& set);

/// The variables that still have the value that a step of ours gave them.
[[nodiscard]] std::vector<std::string> marked(const Lookup& environment);

/// The environment as its user made it: without the variables of marked().
[[nodiscard]] Lookup without_marked(Lookup environment);

}  // namespace railhead::rails
