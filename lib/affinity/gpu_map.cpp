#include "affinity/gpu_map.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace railhead::affinity {

namespace {

/// As a JSON string.  Device names are plain; anything that would need care is shown as "?".
std::string quoted(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; },
        '?');
    return '"' + text + '"';
}

}  // namespace

std::string gpu_map(const node::Node& node, const rails::RailPlan& plan,
                    const std::vector<std::size_t>& gpus, const std::vector<Share>& shares) {
    std::string out = "[";
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const auto& gpu = node.gpus[gpus[i]];
        const auto& rails = plan.gpus[gpus[i]];
        out += fmt::format(R"({}{{"gpu":{},"index":{})", i == 0 ? "" : ",", i, gpu.index);
        if (gpu.pci) {
            out += fmt::format(R"(,"pci":"{}")", to_string(*gpu.pci));
        }
        if (gpu.numa) {
            out += fmt::format(R"(,"numa":{})", *gpu.numa);
        }
        out += fmt::format(R"(,"cpus":"{}","nic":{})", to_string(shares[i].cpus),
                           quoted(rails::device_list(node, rails.nics)));
        if (!rails.nics.empty()) {
            out += fmt::format(R"(,"path":"{}")", to_string(rails.path));
        }
        out += '}';
    }
    return out + "]";
}

}  // namespace railhead::affinity
