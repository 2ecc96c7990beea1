// GPUs and networks by the names that people use, as far as a collective is concerned.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fabric/nccl_tuning.hpp"

namespace railhead::fabric {

struct GpuPart {
    std::string_view name;
    Generation generation = Generation::hopper;
    double nvlink_bytes_per_s = 0;  ///< one direction, as it is sold: half of what datasheets say
    bool has_nvls = false;          ///< in the usual node of 8, or rack
};
/// NVIDIA's datasheets.
[[nodiscard]] std::span<const GpuPart> gpu_parts();

struct NetworkPart {
    std::string_view name;
    double nic_bytes_per_s = 0;
    std::uint64_t nics_per_node = 8;  ///< of the usual node
    double latency_us = 0;            ///< that its plugin tells NCCL
    std::string_view source;
};
/// InfiniBand by generation, and EFA by instance: NIC rates of the vendors, latencies of aws-ofi-
/// nccl's table of platforms.
[[nodiscard]] std::span<const NetworkPart> network_parts();

}  // namespace railhead::fabric
