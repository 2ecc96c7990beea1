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
    double nic_bytes_per_s = 0;       ///< of a port, one direction
    std::uint64_t nics_per_node = 8;  ///< of the usual node, which has 8 GPUs
    std::string source;
};

/// A GPU by its name in the catalogue ("h100-sxm") and its rates.  Nothing where the name has no
/// chip of NVIDIA's that is known: NCCL's constants are not those of other libraries.
[[nodiscard]] std::optional<GpuPart> make_gpu_part(std::string_view name,
                                                   double scale_up_bytes_per_s,
                                                   double pcie_bytes_per_s, std::string source);

/// What is known of the latency of a network beside its rate (microseconds).
struct NetworkLatency {
    double told_us = 0;        ///< by the plugin to NCCL, which chooses by it; 0: nothing
    double step_us = 0;        ///< that a step takes in all; 0: not known
    double completion_us = 0;  ///< Simple's, on top of a step
};

/// InfiniBand and RoCE, which NCCL drives itself, have none of their own.
///
/// EFA: aws-ofi-nccl tells NCCL 75 us for p4d and p5, 35 us for later ones (its table of
/// platforms), but reckons in its own model for p5 and later with 20 us a step, 3 more where the
/// host has to see the completion: TUNER_NET_LATENCY and TUNER_NET_COMP_OVERHEAD in
/// include/nccl_ofi_param.h, which says that the two differ "by design".
[[nodiscard]] NetworkLatency latency_of(std::string_view network_name);

}  // namespace railhead::fabric
