#include "fabric/collective_parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace railhead::fabric {

namespace {

struct Chip {
    std::string_view name;
    Generation generation;
};

/// NCCL goes by compute capability: 8.6 and 8.9 (A10, L4, L40S) are reckoned as 8.
constexpr std::array chips{
    Chip{"v100", Generation::volta},     Chip{"a100", Generation::ampere},
    Chip{"a800", Generation::ampere},    Chip{"a10", Generation::ampere},
    Chip{"l4", Generation::ampere},      Chip{"l40s", Generation::ampere},
    Chip{"h100", Generation::hopper},    Chip{"h800", Generation::hopper},
    Chip{"h200", Generation::hopper},    Chip{"gh200", Generation::hopper},
    Chip{"b200", Generation::blackwell}, Chip{"gb200", Generation::blackwell},
    Chip{"b300", Generation::blackwell}, Chip{"gb300", Generation::blackwell},
};

}  // namespace

std::optional<GpuPart> make_gpu_part(std::string_view name, double scale_up_bytes_per_s,
                                     double pcie_bytes_per_s, std::string source) {
    const auto chip = name.substr(0, name.find('-'));
    const auto* found = std::ranges::find(chips, chip, &Chip::name);
    if (found == chips.end()) {
        return std::nullopt;
    }
    // Bridges join two or four cards; a node of eight talks over PCIe.
    const bool is_card = name.ends_with("-nvl") || name.find("pcie") != std::string_view::npos;
    GpuPart part{std::string{name},
                 found->generation,
                 is_card ? 0 : scale_up_bytes_per_s,
                 pcie_bytes_per_s,
                 false,
                 std::move(source),
                 8};
    // GH200 are wired to each other without a switch.
    part.has_nvls =
        part.nvlink_bytes_per_s > 0 && nvls_efficiency(part.generation) > 0 && chip != "gh200";
    return part;
}

NetworkLatency latency_of(std::string_view network_name) {
    if (!network_name.starts_with("efa")) {
        return {};
    }
    constexpr double early = 75;
    constexpr double late = 35;
    constexpr double step = 20;
    constexpr double completion = 3;
    if (network_name == "efa-v1") {
        return {early, 0, 0};
    }
    return {network_name == "efa-v2" ? early : late, step, completion};
}

}  // namespace railhead::fabric
