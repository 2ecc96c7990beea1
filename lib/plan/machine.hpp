// What a training run is laid over: accelerators, what joins them, and what a node draws.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "fabric/collective_question.hpp"
#include "training/accelerator.hpp"
#include "training/catalogue.hpp"

namespace railhead::plan {

/// What may be said of it; the rest is that of the accelerator's usual node.
struct MachineQuestion {
    const training::Accelerator* accelerator = nullptr;
    training::Precision precision = training::Precision::bf16;
    const training::Nic* nic = nullptr;
    std::optional<std::uint64_t> gpus_per_node, nics_per_node;
    std::optional<double> nic_bytes_per_s;
    std::optional<double> node_power_w;
};

/// Rates are of one GPU and one direction.
struct Machine {
    const training::Accelerator* accelerator = nullptr;
    training::Precision precision = training::Precision::bf16;
    double peak_flops = 0;    ///< dense, FLOP/s
    double matmul_share = 0;  ///< of it, that the best matmul reaches
    std::uint64_t gpus_per_node = 8;
    std::uint64_t domain = 8;  ///< GPUs that NVLink or its like joins
    std::uint64_t nics_per_node = 8;
    double nic_bytes_per_s = 0;       ///< of a NIC, as it is sold
    double scale_up_bytes_per_s = 0;  ///< what NCCL reaches within the domain
    double network_bytes_per_s = 0;   ///< what NCCL reaches of the node's NICs, a GPU's share
    double node_power_w = 0;
    std::vector<fabric::AssumedFigure> assumed;

    /// A GPU's share of its node's NICs, as they are sold.
    [[nodiscard]] double nic_share() const {
        return nic_bytes_per_s * static_cast<double>(nics_per_node) /
               static_cast<double>(gpus_per_node);
    }
};

/// Fills in what was not said, from the catalogue and from datasheets of usual nodes; each figure
/// is listed with its source.  Fails with `bad_input` where the accelerator has no peak in this
/// precision, no memory bandwidth, or no link between GPUs is known.
[[nodiscard]] Result<Machine> make_machine(const MachineQuestion& question,
                                           const training::Catalogue& catalogue);

}  // namespace railhead::plan
