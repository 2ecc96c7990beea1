// CPUs and memory of an hwloc topology, for from_hwloc.cpp and what belongs to it.
#pragma once

#include <optional>

#include <hwloc.h>

#include "base/cpu_set.hpp"
#include "node/node.hpp"

namespace railhead::node {

/// Empty for none and for hwloc's infinite set.
[[nodiscard]] CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap);

/// The node's NUMA nodes, cores and allowed CPUs.
void add_numa_and_cores(Node& node, hwloc_topology* topology);

/// The NUMA node that a device hangs on: the only one with CPUs among those near it.
[[nodiscard]] std::optional<unsigned> numa_of(const Node& node, hwloc_obj_t place);

}  // namespace railhead::node
