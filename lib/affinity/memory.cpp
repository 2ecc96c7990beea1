#include "affinity/memory.hpp"

#include <fmt/format.h>

namespace railhead::affinity {

namespace {

using node::Node;

/// Why this node is not for the memory of the task; empty: it is.
std::string objection(const Node& node, unsigned numa, const MemoryGrant& grant) {
    const auto* const found = node.find_numa(numa);
    if (found == nullptr || found->cpus.empty()) {
        return fmt::format("memory node {} has no CPUs", numa);
    }
    if (!grant.allowed.contains(numa)) {
        return fmt::format("memory node {} is not allowed here", numa);
    }
    if (!found->cpus.meets(grant.cpus)) {
        return fmt::format("none of its CPUs is near memory node {}", numa);
    }
    return {};
}

}  // namespace

Memory place_memory(const Node& node, const std::vector<std::size_t>& gpus,
                    const MemoryGrant& grant) {
    if (grant.policy == MemoryPolicy::off) {
        return {MemoryPolicy::off, {}, "switched off"};
    }
    Memory memory{grant.policy, {}, {}};
    for (const auto position : gpus) {
        const auto& gpu = node.gpus[position];
        auto reason = gpu.numa ? objection(node, *gpu.numa, grant)
                               : fmt::format("GPU {} has no NUMA node of its own", gpu.index);
        if (!reason.empty()) {
            return {MemoryPolicy::off, {}, std::move(reason)};
        }
        memory.nodes.add(*gpu.numa);
    }
    return memory;
}

std::string to_string(const Memory& memory) {
    if (memory.policy == MemoryPolicy::off || memory.nodes.empty()) {
        return "none: " + memory.reason;
    }
    return fmt::format("{}: {}", memory.policy == MemoryPolicy::bind ? "bind" : "prefer",
                       to_string(memory.nodes));
}

}  // namespace railhead::affinity
