// What the kernel and the drivers tell about GPUs and NICs, below a root path.
//
// Fills in what a Node's first source left open; what it said stays.  `root` is "/" on a machine
// and a miniature tree in a test.  Plain small files only: no library, no driver call.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

/// The file without blanks and line ends at both sides; nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> read_line(const std::string& path);

/// "400 Gb/sec (4X NDR)" is 400 Gbit/s: the text of /sys/class/infiniband/*/ports/*/rate.
[[nodiscard]] std::optional<double> parse_port_rate(std::string_view text);

/// "InfiniBand", "Ethernet": the text of …/link_layer.
[[nodiscard]] LinkLayer parse_link_layer(std::string_view text);

/// From /sys/class/infiniband: rate, link layer and state of each NIC, and whether it is an SR-IOV
/// function of another one, and the names of NICs that the source left without (nics_unnamed);
/// from /sys/class/net: the bond that its interface is a member of; from
/// /sys/class/cxi: the name of a Slingshot NIC; from /proc/driver/nvidia/gpus: UUID, minor number
/// and model of each NVIDIA GPU.  A file that is absent changes nothing.  Done again later, it brings
/// up to date what can change without a device coming or going: a port's state, and the port itself
/// where another one of the NIC has come up.
void add_sysfs(Node& node, const std::string& root);

}  // namespace railhead::node
