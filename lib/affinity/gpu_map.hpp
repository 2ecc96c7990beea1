// RAILHEAD_GPU_MAP: what each GPU of a task is near, for a launcher that places its own processes.
//
// torchrun and its like run as one task with all GPUs and start a process for each.  Such a task
// is not bound; its processes bind themselves (or `railhead exec` binds them) from this map:
//
//     [{"gpu":0,"index":4,"pci":"0000:9d:00.0","numa":1,"cpus":"32-39","nic":"mlx5_6:1","path":"PXB"},…]
//
// One object for each GPU, in the order in which the task numbers its devices, so element i is for
// local rank i.  "gpu" is that number, "index" the node's own; "cpus" is a kernel list of this
// GPU's fair share, "" when none is near; "nic" is a list as UCX_NET_DEVICES takes it, "" when the
// node has no rail; "pci", "numa" and "path" are absent when not
// known.
#pragma once

#include <string>
#include <vector>

#include "affinity/binding.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::affinity {

/// The map of `gpus` (positions in Node::gpus), whose CPUs are `shares`.
[[nodiscard]] std::string gpu_map(const node::Node& node, const rails::RailPlan& plan,
                                  const std::vector<std::size_t>& gpus,
                                  const std::vector<Share>& shares);

}  // namespace railhead::affinity
