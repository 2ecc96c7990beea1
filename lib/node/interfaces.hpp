// The network interfaces of a machine, and the networks that it reaches through them.
//
// NCCL and Gloo exchange addresses over them before any NIC is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::node {

/// A network that an interface is in.
struct Route {
    std::string interface;
    std::string network;  ///< "10.0.0.0/20"
    unsigned metric = 0;
};

struct Interfaces {
    std::vector<std::string> names;  ///< in the kernel's order, lo among them
    std::vector<Route> routes;       ///< IPv4; those of interfaces that are up, without gateways
};

/// The names in the text of /proc/net/dev.
[[nodiscard]] std::vector<std::string> parse_interfaces(std::string_view text);

/// The networks in the text of /proc/net/route.
[[nodiscard]] std::vector<Route> parse_routes(std::string_view text);

/// Both files below `root`, which is "/" or a recorded machine's.
/// Fails as read_file() does.
[[nodiscard]] Result<Interfaces> read_interfaces(const std::string& root);

}  // namespace railhead::node
