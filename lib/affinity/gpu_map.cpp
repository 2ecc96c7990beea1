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
                    const std::vector<MapEntry>& entries) {
    std::string out = "[";
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& entry = entries[i];
        const auto& gpu = node.gpus[entry.gpu];
        const auto& rails = plan.gpus[entry.gpu];
        out += fmt::format(R"({}{{"gpu":{})", i == 0 ? "" : ",", i);
        if (!entry.visible.empty()) {
            out += fmt::format(R"(,"visible":{})", quoted(entry.visible));
        }
        out += fmt::format(R"(,"index":{})", gpu.index);
        if (gpu.pci) {
            out += fmt::format(R"(,"pci":"{}")", to_string(*gpu.pci));
        }
        if (gpu.numa) {
            out += fmt::format(R"(,"numa":{})", *gpu.numa);
        }
        out += fmt::format(R"(,"cpus":"{}")", to_string(entry.cpus));
        if (!entry.memory.nodes.empty()) {
            out +=
                fmt::format(R"(,"memory":{},"memory_policy":"{}")", to_string(entry.memory.nodes),
                            entry.memory.policy == MemoryPolicy::bind ? "bind" : "prefer");
        }
        out += fmt::format(R"(,"nic":{})", quoted(rails::device_list(node, rails.nics)));
        if (!rails.nics.empty()) {
            out += fmt::format(R"(,"path":"{}")", to_string(rails.path));
        }
        out += '}';
    }
    return out + "]";
}

}  // namespace railhead::affinity
