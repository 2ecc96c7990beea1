// What is odd about a node's rails, for people who look: a GPU without a near NIC, GPUs that no
// NIC is nearer to than to others, a GPU that lost its NVLinks.
#pragma once

#include <string>
#include <vector>

#include "rails/rail_plan.hpp"

namespace railhead::rails {

/// One sentence for each; empty where each GPU has rails of its own near it.
///
///  - A GPU has no local NIC when its nearest rail is farther than PXB, and farther than that of
///    another GPU.
///  - Nothing tells rails apart when three GPUs or more have the same two or more rails at one
///    distance: a virtual machine that hides its PCI tree, or one switch for all.
///  - A GPU lost its direct links when it has none and each other GPU has two or more.
[[nodiscard]] std::vector<std::string> find_warnings(const node::Node& node, const RailPlan& plan);

}  // namespace railhead::rails
