// A question about a collective, and the answer: its curve, what NCCL takes, what would change it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fabric/collective_model.hpp"
#include "fabric/collective_parts.hpp"
#include "fabric/nccl_tests.hpp"

namespace railhead::fabric {

/// What is not given is assumed, and said so in the answer.
struct CollectiveQuestion {
    Collective collective = Collective::all_reduce;
    std::optional<std::uint64_t> nodes, gpus, gpus_per_node;
    std::optional<GpuPart> gpu;
    std::optional<Generation> generation;
    std::optional<double> nvlink_bytes_per_s, pcie_bytes_per_s;
    std::optional<NetworkPart> network;
    std::optional<std::uint64_t> nics_per_node;
    std::optional<double> nic_bytes_per_s, network_latency_s;
    std::optional<Cpu> cpu;
    std::optional<std::uint64_t> channels;
    bool no_nvls = false;
    bool sharp = false;
    Allowed allowed;

    std::optional<double> bytes;               ///< the size that counts
    std::optional<double> params;              ///< or the gradients of a model
    std::optional<double> bytes_per_gradient;  ///< default: 2, bf16
    std::optional<NcclTests> measured;
};

/// A figure that was not given.
struct AssumedFigure {
    std::string_view what;
    std::string value;
    std::string source;
};

/// NCCL goes over to another algorithm or protocol at this size.
struct TakenFrom {
    double bytes = 0;
    Algorithm algorithm = Algorithm::ring;
    Protocol protocol = Protocol::simple;
};

/// A variable of NCCL: what it would change at the size that counts.
struct Setting {
    std::string name;                 ///< "NCCL_ALGO=Ring"
    std::optional<Prediction> gives;  ///< absent: its effect is not modelled
    std::string advice;
};

struct Compared {
    MeasuredRow measured;
    Prediction predicted;
    /// Predicted over measured time, less 1.
    [[nodiscard]] double error() const { return predicted.time_us / measured.time_us - 1; }
};

struct CollectiveAnswer {
    CollectiveModel model;
    double bytes = 0;  ///< the size that counts
    Prediction at_bytes;
    WireTimes wires;                  ///< of an all-reduce of that size, summed within nodes first
    std::optional<Ceiling> ceiling;   ///< that NVIDIA gives for such a system
    std::vector<Prediction> curve;    ///< 1 KiB to 16 GiB
    std::vector<TakenFrom> taken;     ///< the first is what NCCL takes for the smallest
    std::optional<double> crossover;  ///< see ring_tree_crossover()
    std::vector<Setting> settings;
    std::vector<Compared> compared;  ///< with what was measured, where that is given
    std::vector<AssumedFigure> assumed;
    std::vector<std::string> notes;
};

/// Fails with `bad_input` where figures are missing that no guess can stand for, or contradict each
/// other, and as CollectiveModel::make() does.
[[nodiscard]] Result<CollectiveAnswer> answer(const CollectiveQuestion& question);

}  // namespace railhead::fabric
