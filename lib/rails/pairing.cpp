#include "rails/pairing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railhead::rails {

namespace {

using node::Node;
using node::Path;

/// The smaller of port rate and PCIe link in Gbit/s; 0 where neither is known.
double bandwidth(const node::Nic& nic) {
    constexpr double bits_per_byte = 8;
    const auto link =
        nic.pcie_gbyte_per_s ? std::optional{*nic.pcie_gbyte_per_s * bits_per_byte} : std::nullopt;
    const auto rate = nic.gbit_per_s ? nic.gbit_per_s : link;
    return std::min(rate.value_or(0), link.value_or(rate.value_or(0)));
}

/// Sharers have the same NICs by the same path: a GPU beside them does not share with one that
/// comes from afar, as in NCCL.
std::size_t nics_per_gpu(const std::vector<GpuRails>& gpus, const GpuRails& gpu) {
    const auto same = std::ranges::count_if(gpus, [&](const GpuRails& other) {
        return other.near == gpu.near && other.path == gpu.path;
    });
    const auto sharers = std::max<std::size_t>(1, static_cast<std::size_t>(same));
    return (gpu.near.size() + sharers - 1) / sharers;
}

/// Deals each GPU its share of its near NICs.
void deal(std::vector<GpuRails>& gpus) {
    std::vector<std::size_t> turns(gpus.size());
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    std::ranges::stable_sort(turns, {}, [&](std::size_t gpu) { return gpus[gpu].path; });
    std::map<std::size_t, unsigned> uses;  // of each NIC, so far
    for (const auto turn : turns) {
        auto& gpu = gpus[turn];
        auto free = gpu.near;
        for (auto left = nics_per_gpu(gpus, gpu); left > 0; --left) {
            const auto least = std::ranges::min_element(
                free, {}, [&](std::size_t nic) { return uses[nic]; });  // the first of equals
            gpu.nics.push_back(*least);
            ++uses[*least];
            free.erase(least);
        }
        std::ranges::sort(gpu.nics);
    }
}

}  // namespace

GpuRails near_nics(const Node& node, std::size_t gpu, const std::vector<std::size_t>& nics) {
    GpuRails found;
    double best = 0;
    for (const auto nic : nics) {
        const auto path = node.paths[gpu][nic];
        const auto rate = bandwidth(node.nics[nic]);
        if (found.near.empty() || path < found.path || (path == found.path && rate > best)) {
            found.near.clear();
            found.path = path;
            best = rate;
        }
        if (path == found.path && rate >= best) {
            found.near.push_back(nic);
        }
    }
    return found;
}

std::vector<GpuRails> pair_gpus(const Node& node, const std::vector<std::size_t>& nics) {
    std::vector<GpuRails> gpus;
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
        gpus.push_back(near_nics(node, gpu, nics));
    }
    if (!nics.empty()) {
        deal(gpus);
    }
    return gpus;
}

}  // namespace railhead::rails
