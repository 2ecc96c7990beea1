#include "rank_binding.hpp"

#include <fmt/format.h>

namespace railhead::cli {

namespace {

/// The memory near the GPU; without nodes and with a reason where the process may not use it.
affinity::Memory plan_memory(const affinity::Memory& near,
                             const Result<affinity::MemoryNodes>& allowed) {
    if (near.nodes.empty()) {
        return {};
    }
    if (!allowed) {
        return {affinity::MemoryPolicy::off, {}, allowed.error().message};
    }
    const auto forbidden = near.nodes - *allowed;
    if (!forbidden.empty()) {
        return {affinity::MemoryPolicy::off,
                {},
                fmt::format("memory node {} is not allowed here", to_string(forbidden))};
    }
    return near;
}

}  // namespace

RankBinding plan_binding(const GpuPlace& place, const CpuSet& mask,
                         const Result<affinity::MemoryNodes>& allowed) {
    RankBinding binding;
    binding.wanted = place.cpus & mask;
    binding.cpus = binding.wanted;
    binding.memory = plan_memory(place.memory, allowed);
    if (binding.wanted.empty()) {
        keep_mask(binding, mask,
                  place.cpus.empty() ? "none near the GPU was granted"
                                     : "those near the GPU are not in this process's mask");
    }
    return binding;
}

void keep_mask(RankBinding& binding, const CpuSet& mask, const std::string& reason) {
    binding.cpus = mask;
    binding.cpus_kept = reason;
    if (!binding.memory.nodes.empty()) {
        keep_memory(binding, "the CPUs are not those near the GPU");
    }
}

void keep_memory(RankBinding& binding, const std::string& reason) {
    binding.memory = {affinity::MemoryPolicy::off, {}, reason};
}

affinity::BindingLine line_of(std::string who, const GpuPlace& place, const RankBinding& binding) {
    affinity::BindingLine line;
    line.who = std::move(who);
    line.gpus = {{place.index, place.pci}};
    line.cpus = binding.cpus;
    line.cpus_kept = binding.cpus_kept;
    if (binding.cpus_kept.empty()) {
        line.numa = place.numa ? fmt::format("{}", *place.numa) : "";
        line.memory_kept = binding.memory.reason;
    }
    if (!binding.memory.nodes.empty()) {
        line.memory = to_string(binding.memory.nodes);
        line.memory.insert(0, binding.memory.policy == affinity::MemoryPolicy::bind ? "bind " : "");
    }
    line.nics = place.nics;
    line.path = place.path;
    return line;
}

std::vector<std::pair<std::string, std::string>> variables_of(const GpuPlace& place,
                                                              const RankBinding& binding,
                                                              const Lookup& lookup) {
    std::vector<std::pair<std::string, std::string>> variables;
    const auto ours = lookup("RAILHEAD_NIC");
    if (!place.nics.empty() && ours) {
        variables.emplace_back("RAILHEAD_NIC", place.nics);
        if (lookup("UCX_NET_DEVICES") == ours) {
            variables.emplace_back("UCX_NET_DEVICES", place.nics);
        }
    }
    if (!binding.wanted.empty()) {
        variables.emplace_back("RAILHEAD_CPUS", to_string(binding.wanted));
    }
    variables.emplace_back("RAILHEAD_BINDING",
                           binding.cpus_kept.empty() ? "gpu" : "none: " + binding.cpus_kept);
    if (!binding.memory.nodes.empty() || !binding.memory.reason.empty()) {
        variables.emplace_back("RAILHEAD_MEMORY", to_string(binding.memory));
    }
    return variables;
}

}  // namespace railhead::cli
