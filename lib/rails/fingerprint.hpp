// Whether two nodes have the same rails: a short hash of what their rails are.
//
// NCCL wants rail i of one node to be rail i of every other, of one rate and one link layer, and
// near the same GPUs.  Nodes cannot compare at launch, so the comparison is made by hand or by a
// health check: each node prints one line, and one place compares the lines.
//
// The names of the NICs are not part of it: nodes of one type may name them differently, and then
// only the lists differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rails/rail_plan.hpp"

namespace railhead::rails {

/// The rails of one node as far as other nodes must have the same.
struct RailIdentity {
    std::string fingerprint;  ///< 16 hexadecimal digits: FNV-1a of `shape`
    std::string list;         ///< names: "mlx5_0:1,mlx5_3:1"; "" without rails
    /// What is hashed, as words key=value: how many rails, of which PCI device, rate in Gbit/s and
    /// link layer; for each GPU the path and the positions of its rails, 0 for the first.
    ///     rails=2 device=15b3:1021 rate=400 layer=InfiniBand gpus=PXB:0/PXB:1
    std::string shape;
    std::string node;  ///< which node it is of: a host's name, a file; "" when not known
};

/// A rate that a port does not show because it is down counts as that of the other rails.
[[nodiscard]] RailIdentity identify_rails(const node::Node& node, const RailPlan& plan,
                                          std::string name);

/// The words of a shape in order: {"rails", "2"}, {"device", "15b3:1021"}, …
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> shape_words(
    std::string_view shape);

/// "4b1d…  mlx5_0:1,mlx5_3:1  rails=2 …  node=gpu01", without a line end; "-" for no list.
[[nodiscard]] std::string to_line(const RailIdentity& identity);

/// Reads what to_line() writes; srun's and pdsh's label before it ("12: ", "gpu01: ") names the
/// node where the line itself does not. Fails with `bad_input` for anything else, and where the
/// hash is not that of the shape.
[[nodiscard]] Result<RailIdentity> parse_identity(std::string_view line);

}  // namespace railhead::rails
