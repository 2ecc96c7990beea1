#include "fabric/collective.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

/// In the order of Collective.
constexpr std::array<std::string_view, 9> names{"all_reduce", "reduce_scatter", "all_gather",
                                                "all_to_all", "broadcast",      "reduce",
                                                "gather",     "scatter",        "send_receive"};

constexpr std::array ceilings{
    Ceiling{"PCIe Gen4", 24},
    Ceiling{"PCIe Gen5", 48},
    Ceiling{"PCIe Gen6", 96},
    Ceiling{"NVLink2 V100", 122},
    Ceiling{"NVLink3 A100", 232},
    Ceiling{"NVLink4 H100", 370},
    Ceiling{"NVLink4 SHARP H100", 480},
    Ceiling{"NVLink5 B200", 700},
    Ceiling{"NVLink5 SHARP B200", 850},
    Ceiling{"100GbE TCP", 10},
    Ceiling{"200Gb RDMA", 24},
    Ceiling{"400Gb RDMA", 48},
    Ceiling{"DGX A100 8x200Gb", 192},
    Ceiling{"DGX H100 8x400Gb", 380},
    Ceiling{"DGX H100 8x400Gb (GTC25 value)", 370},
    Ceiling{"DGX H100 8x400Gb IB SHARP", 480},
    Ceiling{"GB200 NVL72", 680},
    Ceiling{"GB200 NVL72 SHARP", 850},
};

}  // namespace

std::string_view name_of(Collective collective) {
    return names[static_cast<std::size_t>(collective)];
}

std::optional<Collective> find_collective(std::string_view name) {
    std::string plain{name};
    std::ranges::replace(plain, '-', '_');
    const auto* found = std::ranges::find_if(
        names, [&](std::string_view one) { return equals_ignoring_case(one, plain); });
    if (found == names.end()) {
        return std::nullopt;
    }
    return static_cast<Collective>(found - names.begin());
}

double busbw_factor(Collective collective, std::uint64_t ranks) {
    const auto n = static_cast<double>(ranks);
    switch (collective) {
        case Collective::all_reduce:
            return 2 * (n - 1) / n;
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::all_to_all:
        case Collective::gather:
        case Collective::scatter:
            return (n - 1) / n;
        case Collective::broadcast:
        case Collective::reduce:
        case Collective::send_receive:
            return 1;
    }
    return 1;
}

WireTimes hierarchical_all_reduce(const Hierarchy& hierarchy, double bytes) {
    const auto k = static_cast<double>(hierarchy.nodes);
    const auto g = static_cast<double>(hierarchy.gpus_per_node);
    WireTimes times;
    if (g > 1) {
        times.scale_up_s = 2 * (g - 1) / g * bytes / hierarchy.scale_up_bytes_per_s;
    }
    if (k > 1) {
        times.network_s = 2 * (k - 1) / k * bytes / g / hierarchy.network_bytes_per_s;
    }
    return times;
}

double wire_rate_of(const Hierarchy& hierarchy, double busbw) {
    return busbw * static_cast<double>(hierarchy.nodes - 1) /
           static_cast<double>(hierarchy.ranks() - 1);
}

std::span<const Ceiling> published_ceilings() {
    return ceilings;
}

}  // namespace railhead::fabric
