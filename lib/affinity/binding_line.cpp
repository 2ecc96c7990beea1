#include "affinity/binding_line.hpp"

#include <fmt/format.h>

namespace railhead::affinity {

std::string to_string(const BindingLine& line) {
    std::string gpus;
    for (const auto& gpu : line.gpus) {
        gpus += fmt::format("{}{}{}", gpus.empty() ? "" : ", ", gpu.index,
                            gpu.pci.empty() ? "" : " (" + gpu.pci + ")");
    }
    const auto memory_kept =
        line.memory_kept.empty() ? "as it was" : "as it was: " + line.memory_kept;
    return fmt::format("{}: GPU {}, CPUs {}{}{}, memory {}, NIC {}{}", line.who, gpus,
                       to_string(line.cpus), line.numa.empty() ? "" : " (NUMA " + line.numa + ")",
                       line.cpus_kept.empty() ? "" : " as they were: " + line.cpus_kept,
                       line.memory.empty() ? memory_kept : line.memory,
                       line.nics.empty() ? "none" : line.nics,
                       line.path.empty() || line.nics.empty() ? "" : " " + line.path);
}

std::string numa_of(const node::Node& node, const CpuSet& cpus) {
    CpuSet nodes;
    for (const auto& numa : node.numa) {
        if (numa.cpus.meets(cpus)) {
            nodes.add(numa.index);
        }
    }
    return to_string(nodes);
}

}  // namespace railhead::affinity
