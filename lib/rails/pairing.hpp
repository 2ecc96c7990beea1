// Which NICs each GPU of a node sends through.
//
// NCCL 2.30 takes those of the highest path bandwidth, and among them those of the nearest path; we
// take the nearest path first.  Among healthy rails of one class both give the same set, since a
// nearer path has no narrower link.  Where a near NIC is of a slower class than a far one it is no
// rail, and NCCL is not told of it.  Where the PCIe link of a near rail has come up narrower than
// others', NCCL goes past it and we do not: that is a fault to repair, and no other map.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rails/rail_plan.hpp"

namespace railhead::rails {

/// Of `nics` (positions in Node::nics, ascending): all at the nearest path to this GPU that have
/// the highest bandwidth there, the smaller of port rate and PCIe link.  NCCL calls it the local
/// set.
[[nodiscard]] GpuRails near_nics(const node::Node& node, std::size_t gpu,
                                 const std::vector<std::size_t>& nics);

/// near_nics() of every GPU, and its share of them: ceil(near / GPUs with the same near by the same
/// path) each, the least shared first, then in PCI order.  GPUs with a nearer NIC choose first, so
/// that one without takes what they leave.
[[nodiscard]] std::vector<GpuRails> pair_gpus(const node::Node& node,
                                              const std::vector<std::size_t>& nics);

}  // namespace railhead::rails
