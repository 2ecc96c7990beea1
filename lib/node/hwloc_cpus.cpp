#include "node/hwloc_cpus.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace railhead::node {

CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap) {
    CpuSet set;
    if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) {  // < 0: infinite
        return set;
    }
    for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) {
        set.add(static_cast<unsigned>(cpu));
    }
    return set;
}

namespace {

/// hwloc shows memory without CPUs (of a GPU, HBM, CXL) with the CPUs that are near it.  The kernel
/// has each CPU in one node only: the smaller, then the lower one.
void clear_memory_only(std::vector<NumaNode>& nodes) {
    std::ranges::sort(nodes, {}, [](const NumaNode& numa) {
        return std::pair{numa.cpus.size(), numa.index};
    });
    CpuSet taken;
    for (auto& numa : nodes) {
        if ((numa.cpus & taken).empty()) {
            taken |= numa.cpus;
        } else {
            numa.cpus = {};
        }
    }
    std::ranges::sort(nodes, {}, &NumaNode::index);
}

std::optional<unsigned> socket_of(hwloc_obj_t numa) {
    for (auto* up = numa->parent; up != nullptr; up = up->parent) {
        if (up->type == HWLOC_OBJ_PACKAGE) {
            return up->logical_index;
        }
    }
    return std::nullopt;
}

}  // namespace

void add_numa_and_cores(Node& node, hwloc_topology* topology) {
    for (hwloc_obj_t obj = nullptr;
         (obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, obj)) != nullptr;) {
        node.numa.push_back({obj->os_index, socket_of(obj), to_cpu_set(obj->cpuset),
                             obj->attr->numanode.local_memory});
    }
    clear_memory_only(node.numa);

    for (hwloc_obj_t obj = nullptr;
         (obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, obj)) != nullptr;) {
        node.cores.push_back(to_cpu_set(obj->cpuset));
    }
    if (node.cores.empty()) {  // some virtual machines know no cores
        for (const auto cpu : to_cpu_set(hwloc_topology_get_topology_cpuset(topology)).cpus()) {
            node.cores.emplace_back().add(cpu);
        }
    }
    node.allowed = to_cpu_set(hwloc_topology_get_allowed_cpuset(topology));
}

std::optional<unsigned> numa_of(const Node& node, hwloc_obj_t place) {
    std::optional<unsigned> found;
    for (const auto& numa : node.numa) {
        if (numa.cpus.empty() || hwloc_bitmap_isset(place->nodeset, numa.index) == 0) {
            continue;
        }
        if (found) {
            return std::nullopt;  // near several: the machine does not tell
        }
        found = numa.index;
    }
    return found;
}

}  // namespace railhead::node
