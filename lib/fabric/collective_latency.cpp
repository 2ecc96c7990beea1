#include <algorithm>
#include <cmath>

#include "fabric/collective_model.hpp"

namespace railhead::fabric {

namespace {

/// What one step over each kind of link costs.
struct Steps {
    double base = 0;
    double within = 0;
    double between = 0;
};

Steps steps_of(const System& system, Algorithm algorithm, Protocol protocol) {
    const auto link = system.nvlink_bytes_per_s > 0 ? Link::nvlink : Link::pcie;
    // With one GPU a node nothing hides the network: NCCL takes the tree's latency for all.
    const auto slowest = system.gpus_per_node == 1 ? Algorithm::tree : algorithm;
    // The plugin's latency counts twice for Simple: a flush follows the data.
    const double times = protocol == Protocol::simple ? 2 : 1;
    return {base_latency_us(algorithm, protocol), step_latency_us(link, algorithm, protocol),
            step_latency_us(Link::network, slowest, protocol) + times * system.network_latency_us};
}

/// With the step between nodes as it is, not as NCCL is told.
Steps taken_steps_of(const System& system, Algorithm algorithm, Protocol protocol) {
    auto steps = steps_of(system, algorithm, protocol);
    if (system.network_step_us > 0) {
        steps.between = system.network_step_us +
                        (protocol == Protocol::simple ? system.network_completion_us : 0);
    }
    return steps;
}

double ring_us(const System& system, Collective collective, const Steps& steps, Protocol protocol) {
    const auto rounds = collective == Collective::all_reduce ? 2.0 : 1.0;
    const auto all = rounds * static_cast<double>(system.ranks() - 1);
    const auto between = rounds * static_cast<double>(system.nodes - 1);
    // Also a step within the node has to be posted, where the ring goes over the network.
    const auto within = system.nodes > 1
                            ? std::max(steps.within, post_overhead_us(system.cpu, protocol))
                            : steps.within;
    return steps.base + (all - between) * within + between * steps.between;
}

/// What they add up to.
double sum_us(const System& system, Collective collective, const Candidate& way,
              const Steps& steps) {
    const auto others = static_cast<double>(system.gpus_per_node - 1);
    const auto depth = std::floor(std::log2(static_cast<double>(system.nodes)));
    const bool is_alone = system.nodes == 1;
    switch (way.algorithm) {
        case Algorithm::tree:
            return steps.base + 2 * (others * steps.within + depth * steps.between);
        case Algorithm::ring:
            if (collective == Collective::broadcast || collective == Collective::reduce) {
                return steps.base + (is_alone ? steps.within : steps.between);
            }
            return ring_us(system, collective, steps, way.protocol);
        case Algorithm::collnet_direct: {
            constexpr double fan_in = 0.4;  // for each GPU: NCCL's "arity serialization"
            return steps.base + 2 * (std::min(1.0, others) * steps.within + others * fan_in) +
                   steps.between;
        }
        case Algorithm::collnet_chain:
            return steps.base + 2 * others * steps.within + steps.between;
        case Algorithm::nvls:
            return steps.within + (is_alone ? 0 : steps.between);
        case Algorithm::nvls_tree:
            return steps.base + steps.within + 2 * depth * steps.between;
        case Algorithm::pat: {
            constexpr double overlap = 3.5;
            constexpr double each = 2.8;
            return steps.base + depth * steps.between / overlap +
                   each * static_cast<double>(system.ranks());
        }
        case Algorithm::pairwise:  // all at once: one step
            return steps.base + (is_alone ? steps.within : steps.between);
    }
    return steps.base;
}

}  // namespace

double latency_us(const System& system, Collective collective, Algorithm algorithm,
                  Protocol protocol) {
    return sum_us(system, collective, {algorithm, protocol}, steps_of(system, algorithm, protocol));
}

double taken_latency_us(const System& system, Collective collective, Algorithm algorithm,
                        Protocol protocol) {
    return sum_us(system, collective, {algorithm, protocol},
                  taken_steps_of(system, algorithm, protocol));
}

}  // namespace railhead::fabric
