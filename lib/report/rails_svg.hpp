// The rails of a node as a picture: which GPU sends through which NIC, and how far it is.
#pragma once

#include <string>

#include "node/node.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::report {

/// An SVG file, for light and dark screens: a panel for each NUMA node, in it a frame for each PCIe
/// switch, in it its GPUs above its NICs, each GPU joined to the NICs it sends through.  A rail and
/// its lines have a colour of their own; a line that leaves its frame, because no rail is near the
/// GPU, is thick, dashed and red.  NICs that are no rail are grey, with the reason as a tip.
[[nodiscard]] std::string rails_svg(const node::Node& node, const rails::RailPlan& plan);

}  // namespace railhead::report
