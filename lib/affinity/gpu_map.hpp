// RAILHEAD_GPU_MAP: what each GPU of a task is near, for a launcher that places its own processes.
//
// torchrun and its like run as one task with all GPUs and start a process for each.  Such a task
// is not bound; its processes bind themselves (or `railhead exec` binds them) from this map:
//
//     [{"gpu":0,"visible":"4","index":4,"pci":"0000:9d:00.0","numa":1,"cpus":"32-39",
//       "memory":1,"memory_policy":"prefer","nic":"mlx5_6:1","path":"PXB"},…]
//
// One object for each GPU, in the order in which the task numbers its devices, so element i is for
// local rank i.  "gpu" is that number, "index" the node's own, "visible" the word for it in the
// task's CUDA_VISIBLE_DEVICES (ROCR_VISIBLE_DEVICES); "cpus" is a kernel list of this GPU's fair
// share, "" when none is near; "memory" is the NUMA node to take memory from and "memory_policy"
// how, prefer or bind; "nic" is a list as UCX_NET_DEVICES takes it, "" when the node has no rail.
// "visible", "pci", "numa", "path" and the two of memory are absent when not known or not ours.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "affinity/memory.hpp"
#include "base/cpu_set.hpp"
#include "node/node.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::affinity {

/// One GPU of the map.
struct MapEntry {
    std::size_t gpu = 0;  ///< position in Node::gpus
    CpuSet cpus;          ///< its share
    Memory memory;        ///< without nodes: left alone
    std::string visible;  ///< its word in the visible-devices list; "" when not known
};

/// The map of these GPUs.
[[nodiscard]] std::string gpu_map(const node::Node& node, const rails::RailPlan& plan,
                                  const std::vector<MapEntry>& entries);

}  // namespace railhead::affinity
