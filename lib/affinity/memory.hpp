// Which NUMA node a task's memory is to come from: the one near its GPUs.
//
// The kernel takes a page from the node of the CPU that first touches it.  That is near the GPU
// already while the task stays on its CPUs and they are of one node; a preference keeps it so for
// pages that a thread elsewhere touches, and after a move.  Nothing here is decided about a task
// whose CPUs are far from its GPUs: its memory is better near its CPUs.
//
// A pure function over plain values; own_memory.hpp asks and tells the kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "node/node.hpp"
#include "rails/node_type.hpp"

namespace railhead::affinity {

using MemoryPolicy = rails::Memory;

/// NUMA nodes by the kernel's numbers, in the form that serves for CPUs.
using MemoryNodes = CpuSet;

struct MemoryGrant {
    MemoryPolicy policy = MemoryPolicy::prefer;
    MemoryNodes allowed;  ///< Mems_allowed of the task
    CpuSet cpus;          ///< where the task runs
};

struct Memory {
    MemoryPolicy policy = MemoryPolicy::off;
    MemoryNodes nodes;   ///< empty: leave the task's memory alone
    std::string reason;  ///< why it is left alone
};

/// The memory of a task with these GPUs (positions in Node::gpus): their NUMA nodes.
///
/// Left alone where the node of a GPU is not known, has no CPUs (it is then memory of a GPU), is
/// not allowed, or has none of the task's CPUs.
[[nodiscard]] Memory place_memory(const node::Node& node, const std::vector<std::size_t>& gpus,
                                  const MemoryGrant& grant);

/// For RAILHEAD_MEMORY: "prefer: 0", "bind: 0-1", "none: " and the reason.
[[nodiscard]] std::string to_string(const Memory& memory);

}  // namespace railhead::affinity
