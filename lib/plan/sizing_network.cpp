#include "plan/sizing_network.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "training/memory.hpp"

namespace railhead::plan {

namespace {

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

}  // namespace

Gradients gradients_of(const training::GradientTraffic& traffic, double copies, double members,
                       double step_s, double network_bytes_per_s) {
    Gradients out;
    out.traffic = traffic;
    out.copies = copies;
    out.members = members;
    out.window_s = overlap_share * step_s;
    const auto on_nics = traffic.total() / members;
    out.send_s = on_nics / network_bytes_per_s;
    out.needed_bytes_per_s = on_nics / out.window_s;
    return out;
}

double members_of(const Machine& machine, const training::Layout& layout) {
    const auto copies = layout.cp * layout.groups();
    return std::clamp(as_double(machine.domain) / as_double(layout.tp), 1.0, as_double(copies));
}

training::GradientTraffic traffic_of(const training::Shape& shape, const training::Layout& layout,
                                     const training::Recipe& recipe) {
    training::GradientTraffic most;
    const auto expert_copies = as_double(layout.cp * layout.dp);
    for (const auto stage : {std::uint64_t{0}, std::uint64_t{1}, layout.pp - 1}) {
        if (stage >= layout.pp) {
            continue;
        }
        const auto parameters = training::parameters_of(shape, layout, stage);
        const auto common = training::gradient_traffic(parameters.common, recipe, layout.sharding,
                                                       expert_copies * as_double(layout.ep));
        const auto experts =
            training::gradient_traffic(parameters.experts, recipe, layout.sharding, expert_copies);
        const training::GradientTraffic both{common.reduce_scatter + experts.reduce_scatter,
                                             common.all_gather + experts.all_gather};
        most = both.total() > most.total() ? both : most;
    }
    const auto microbatches = as_double(layout.microbatches);
    most.reduce_scatter *= layout.sharding >= training::Sharding::gradients ? microbatches : 1;
    most.all_gather *= layout.sharding == training::Sharding::weights ? microbatches : 1;
    return most;
}

RailNeed rails_of(const Machine& machine, const training::Layout& layout,
                  const Gradients& gradients) {
    const auto gpus = machine.gpus_per_node;
    const auto reached = machine.network_bytes_per_s / machine.nic_share();
    const auto least =
        gradients.needed_bytes_per_s * as_double(gpus) / (reached * machine.nic_bytes_per_s);
    RailNeed out;
    out.for_gradients = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(least)));
    while (out.for_gradients < gpus && gpus % out.for_gradients != 0) {
        ++out.for_gradients;
    }
    out.crosses = layout.tp * layout.cp * layout.ep > machine.domain;
    out.rails = out.crosses ? std::max(out.for_gradients, gpus) : out.for_gradients;
    out.most_oversubscription =
        std::max(1.0, machine.network_bytes_per_s / gradients.needed_bytes_per_s);
    return out;
}

Result<fabric::Plan> plan_fabric(const Machine& machine, std::uint64_t nodes) {
    if (nodes > fabric::most_planned_nodes) {
        return fail(Errc::bad_input, fmt::format("{} nodes are more than any fabric has", nodes));
    }
    constexpr double giga = 1e9;
    fabric::PlanQuestion question;
    const bool is_rack = machine.domain == fabric::nvl72_nodes * fabric::nvl72_gpus_per_node &&
                         machine.gpus_per_node == fabric::nvl72_gpus_per_node;
    question.design = is_rack ? fabric::Design::nvl72 : fabric::Design::rail_optimized;
    question.nodes = static_cast<std::uint32_t>(nodes);
    question.gpus_per_node = static_cast<std::uint32_t>(machine.gpus_per_node);
    question.nics_per_node = static_cast<std::uint32_t>(machine.nics_per_node);
    question.nic_gbps = machine.nic_bytes_per_s * 8 / giga;
    return fabric::make_plan(question);
}

}  // namespace railhead::plan
