// A Node as lines of text and back: how a fact finder hands it to the process that asked.
//
//     railhead-node <tab> 2
//     source <tab> live
//     allowed <tab> 0-63
//     numa <tab> 0 <tab> 0 <tab> 0-31 <tab> 1099511627776
//     core <tab> 0,64
//     gpu <tab> 0000:1b:00.0 <tab> nvidia <tab> NVIDIA H100 … <tab> GPU-… <tab> 0 <tab> … <tab> 0
//     <tab> 0-31 nic <tab> mlx5_0 <tab> 0000:18:00.0 <tab> 15b3:1021 <tab> 1 <tab> 400 <tab> 63
//     <tab> … path <tab> PXB <tab> NODE …        (one line for each GPU: its path to each NIC)
//     link <tab> SYS <tab> SYS,18 …              (one line for each GPU, where known: to each GPU) end
//
// Absent values are empty fields.  The first line changes whenever the meaning of another does.
#pragma once

#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

[[nodiscard]] std::string to_wire(const Node& node);

/// Fails with `bad_input` on anything that to_wire() does not write.
[[nodiscard]] Result<Node> from_wire(std::string_view text);

}  // namespace railhead::node
