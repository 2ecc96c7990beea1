#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabric/fabric.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    std::vector<railhead::Error> warnings;
    const auto fabric = railhead::fabric::parse_topology_conf(text, "topology.conf", &warnings);
    if (!fabric) {
        return 0;
    }
    const auto leaves = fabric->leaves();
    if (leaves.empty() != (fabric->kind == railhead::fabric::Kind::none)) {
        std::abort();
    }
    for (const auto leaf : leaves) {
        if (leaf.empty() || leaf.back() >= fabric->nodes.size()) {
            std::abort();
        }
    }
    for (const auto& s : fabric->switches) {
        for (const auto child : s.children) {
            if (child >= fabric->switches.size() || fabric->switches[child].level >= s.level) {
                std::abort();  // a child is below its parent
            }
        }
    }
    return 0;
}
