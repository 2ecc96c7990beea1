// A Node from the text of `nvidia-smi topo -m`: paths between GPUs and NICs, NVLinks, CPUs.
//
// It is what people paste into bug reports, so it comes damaged in every way.  A fact that is in
// doubt is left out and told in Node::warnings; a matrix whose rows and columns do not match is
// refused.  The matrix knows no PCI address, no port rate and no core.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

/// The text of topo -m, or of topo -mp, which shows PCI paths where NVLinks are.
///
///  - GPUs are in the order of the matrix, which is PCI order.  A GPU whose row is cut off is read
///    from the rows of all NICs where they are there; else it is left out, which
///    Node::incomplete says.
///  - NICs have the names of the legend, or of old column names ("mlx5_0").  Without a legend they
///    are called as in the matrix ("NIC0"), which Node::incomplete says.
///  - NV# hides the path: NODE within one NUMA node, else SYS.
///  - Of several NUMA nodes a GPU has the lowest where it also has a "GPU NUMA ID": the memory of
///    GPUs is numbered behind the nodes with CPUs.  Else none is certain.
///
/// Fails with `unsupported` for tables of other tools (find_foreign_table), with `bad_input` as
/// parse_topo_table() does, and for a matrix without a GPU that can be read.
[[nodiscard]] Result<Node> parse_topo_m(std::string_view text, std::string source);

/// Whether the rows of the last GPUs are cut off from the matrix that the Node is from: then a NIC
/// may be near one that is not in it.
[[nodiscard]] bool lacks_gpus(const Node& node);

/// Which tool, whose tables look alike but mean other things, wrote the text: "npu-smi (Ascend)",
/// "rocm-smi"; nothing for any other text.
[[nodiscard]] std::optional<std::string_view> find_foreign_table(std::string_view text);

}  // namespace railhead::node
