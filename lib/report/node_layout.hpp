// Which GPUs and NICs of a node are drawn together, and where: NUMA nodes as panels, in them the
// devices behind one PCIe switch or host bridge as groups, in a group its GPUs above its NICs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "node/node.hpp"
#include "report/svg.hpp"

namespace railhead::report {

/// What joins the devices of a group.
enum class Joint : std::uint8_t { pcie_switch, host_bridge, none };

struct DeviceGroup {
    std::vector<std::size_t> gpus, nics;  ///< positions in the Node, ascending
    Joint joint = Joint::none;            ///< none: one device alone
    std::optional<unsigned> numa;         ///< unset where no device of it knows
    Box box;
};

struct Panel {
    std::optional<unsigned> numa;
    std::vector<DeviceGroup> groups;
    Box box;
};

struct NodeLayout {
    std::vector<Panel> panels;    ///< by NUMA node; devices of none last
    std::vector<Box> gpus, nics;  ///< by position in the Node
    double width = 0, height = 0;
};

/// The devices that PIX and PXB paths join, then those that PHB paths join of the rest.
[[nodiscard]] std::vector<DeviceGroup> group_devices(const node::Node& node);

/// The layout, its upper left corner at (0, `top`); no line of groups is wider than 1,200 pixels
/// unless one group alone is.
[[nodiscard]] NodeLayout lay_out(const node::Node& node, double top);

}  // namespace railhead::report
