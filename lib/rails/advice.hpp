// What is to be said about a value that somebody set: names that match more than was meant, or
// nothing at all, and what NCCL makes of an order.
//
// For `railhead rails --why`, where the person looks; a launch says nothing of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/interfaces.hpp"

namespace railhead::rails {

/// What is on the machine that the value is for.
struct Surroundings {
    std::vector<std::string> devices;  ///< RDMA devices: "mlx5_0"
    node::Interfaces interfaces;       ///< empty names: not known
};

/// Sentences without a full stop, for people; empty: nothing is to be said.  Knows NCCL_IB_HCA,
/// NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and UCX_NET_DEVICES.
[[nodiscard]] std::vector<std::string> advise(std::string_view variable, std::string_view value,
                                              const Surroundings& surroundings);

/// A list in NCCL_IB_HCA whose order somebody may believe to mean something.
[[nodiscard]] std::vector<std::string> advise_on_order(std::string_view variable,
                                                       std::string_view value);

/// Two interfaces in one network: the kernel chooses between them, whatever a variable says.
[[nodiscard]] std::vector<std::string> advise_on_routes(const std::vector<node::Route>& routes);

}  // namespace railhead::rails
