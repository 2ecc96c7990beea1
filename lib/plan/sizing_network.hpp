// What gradients want of the network, and which network gives it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "fabric/plan.hpp"
#include "plan/machine.hpp"
#include "training/layout.hpp"
#include "training/recipe.hpp"
#include "training/shape.hpp"
#include "training/traffic.hpp"

namespace railhead::plan {

/// Of a step, the backward pass, which gradients are sent beside: two thirds of the FLOPs.
constexpr double overlap_share = 2.0 / 3;

/// Data-parallel traffic of one GPU in a step, against its share of the NICs.
struct Gradients {
    training::GradientTraffic traffic;
    double copies = 1;
    double members = 1;             ///< of a group, that share a domain: they send one part each
    double window_s = 0;            ///< overlap_share of the step
    double send_s = 0;              ///< at what NCCL reaches of the NICs
    double needed_bytes_per_s = 0;  ///< that NCCL has to reach, to send all in the window

    [[nodiscard]] bool is_hidden() const { return send_s <= window_s; }
};

/// `network_bytes_per_s` is what NCCL reaches of a GPU's share of its node's NICs, `step_s` the
/// time of a step.
[[nodiscard]] Gradients gradients_of(const training::GradientTraffic& traffic, double copies,
                                     double members, double step_s, double network_bytes_per_s);

/// The copies of a parameter that share a domain of the machine.
[[nodiscard]] double members_of(const Machine& machine, const training::Layout& layout);

/// The traffic in a step of the pipeline stage that sends most.  Gradients in shards are sent for
/// each microbatch, and weights in shards too.
[[nodiscard]] training::GradientTraffic traffic_of(const training::Shape& shape,
                                                   const training::Layout& layout,
                                                   const training::Recipe& recipe);

/// How many NICs (rails) of a speed a node needs.
struct RailNeed {
    std::uint64_t rails = 0;           ///< recommended: a divisor of the node's GPUs, or one each
    std::uint64_t for_gradients = 0;   ///< that hide the gradients
    bool crosses = false;              ///< tensor, context or expert traffic leaves the domain
    double most_oversubscription = 1;  ///< of leaf uplinks, that still hides the gradients
};
[[nodiscard]] RailNeed rails_of(const Machine& machine, const training::Layout& layout,
                                const Gradients& gradients);

/// A non-blocking fabric of the machine's own NICs for so many nodes.
[[nodiscard]] Result<fabric::Plan> plan_fabric(const Machine& machine, std::uint64_t nodes);

}  // namespace railhead::plan
