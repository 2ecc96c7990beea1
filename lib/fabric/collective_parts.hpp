// What collectives have to know of a GPU and of a network, beyond their rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/nccl_tuning.hpp"

namespace railhead::fabric {

/// A GPU that was named.  Rates are bytes a second, one direction, as it is sold.
struct GpuPart {
    std::string name;
    Generation generation = Generation::hopper;
    double nvlink_bytes_per_s = 0;  ///< 0: cards, of which at most a few are bridged
    double pcie_bytes_per_s = 0;
    bool has_nvls = false;  ///< the switches of the usual node can add
    std::string source;
    std::uint64_t per_node = 8;  ///< in the usual node
};

/// A network that was named.
struct NetworkPart {
    std::string name;
    double nic_bytes_per_s = 0;  ///< of a port, one direction
    std::uint64_t nics_per_node = 8;  ///< of the usual node, which has 8 GPUs
    std::string source;
};

/// A GPU by its name in the catalogue ("h100-sxm") and its rates.  Nothing where the name has no
/// chip of NVIDIA's that is known: NCCL's constants are not those of other libraries.
[[nodiscard]] std::optional<GpuPart> make_gpu_part(std::string_view name,
                                                   double scale_up_bytes_per_s,
                                                   double pcie_bytes_per_s, std::string source);

/// What the plugin of a network tells NCCL of its latency: 75 us for the EFA of p4d and p5, 35 us
/// for later ones (aws-ofi-nccl, table of platforms), 0 for InfiniBand and RoCE, which NCCL drives.
[[nodiscard]] double plugin_latency_us(std::string_view network_name);

}  // namespace railhead::fabric
