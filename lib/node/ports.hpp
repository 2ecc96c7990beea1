// How the ports of RDMA devices are right now, from sysfs below a root path.
//
// A Node is what a machine is made of; this is the state of the day: a cable that is out, a link
// that came up at half its rate, a port without an address.  Plain small files only.  A driver
// whose firmware is stuck can hang a read, so a daemon reads in a child: rails/health_check.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

/// The port's state in the words of the InfiniBand architecture; RoCE ports use two of them.
enum class PortState : std::uint8_t {
    unknown,
    down,          ///< no link
    initializing,  ///< a link, and no subnet manager has spoken to the port
    armed,         ///< a subnet manager has begun
    active
};

struct PcieLink {
    double gt_per_s = 0;  ///< transfers per second and lane: 32 for PCIe 5
    unsigned lanes = 0;
};

/// Each question to a driver costs a call of its firmware, so an active port is not asked why it
/// might not be, and another one not what it does when it is.
struct Port {
    bool present = false;  ///< the kernel has this device, and the device this port
    PortState state = PortState::unknown;
    LinkLayer link_layer = LinkLayer::unknown;
    std::optional<PcieLink> pcie;

    // active
    std::optional<double> gbit_per_s;
    /// Ethernet: whether it has an address for RoCE v2 other than a link-local one.  NCCL takes no
    /// other (validGid() in its src/transport/net_ib).
    std::optional<bool> has_address;

    // not active
    std::string link;             ///< state of the physical link, sysfs's word: "LinkUp", "Polling"
    std::optional<unsigned> lid;  ///< InfiniBand: 0 until a subnet manager gave one
};

/// The port `number` of the RDMA device `nic`.
[[nodiscard]] Port read_port(const std::string& root, const std::string& nic, unsigned number);

/// "4: ACTIVE": the text of /sys/class/infiniband/*/ports/*/state.
[[nodiscard]] PortState parse_port_state(std::string_view text);

/// Whether "fe80:0000:…", the text of …/gids/*, is an address beyond the own link.
[[nodiscard]] bool is_routable_gid(std::string_view text);

}  // namespace railhead::node
