#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabric/topology_yaml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    std::vector<railhead::Error> warnings;
    const auto fabrics = railhead::fabric::parse_topology_yaml(text, "topology.yaml", &warnings);
    if (!fabrics) {
        return 0;
    }
    for (const auto& fabric : *fabrics) {
        const auto leaves = fabric.leaves();
        if (leaves.empty() == fabric.is_planned()) {
            std::abort();
        }
        for (const auto leaf : leaves) {
            if (leaf.empty() || leaf.back() >= fabric.nodes.size()) {
                std::abort();
            }
        }
    }
    return 0;
}
