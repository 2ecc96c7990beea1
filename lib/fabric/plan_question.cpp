#include "fabric/plan_question.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace railhead::fabric {

namespace {

constexpr std::array<std::string_view, 4> words{"rail-optimized", "spine-leaf", "rail-only",
                                                "nvl72"};
// Far above what is built, and low enough that no product of them overflows.
constexpr std::uint32_t most_ports = 1024;
constexpr std::uint32_t most_per_node = 64;
constexpr double most_gbps = 1e6;
constexpr double most_apart = 16;  // speeds of NIC and uplink
constexpr double most_oversubscription = 1000;

}  // namespace

std::string_view to_string(Design design) {
    return words[static_cast<std::size_t>(design)];
}

std::span<const std::string_view> design_words() {
    return words;
}

std::uint32_t gpus_per_node(const PlanQuestion& question) {
    constexpr std::uint32_t usual = 8;
    return question.gpus_per_node.value_or(question.design == Design::nvl72 ? nvl72_gpus_per_node
                                                                            : usual);
}

std::uint32_t nics_per_node(const PlanQuestion& question) {
    return question.nics_per_node.value_or(gpus_per_node(question));
}

std::vector<PlanAssumption> assumptions_of(const PlanQuestion& question) {
    std::vector<PlanAssumption> out;
    const auto add = [&out](bool said, std::string_view option, std::string value,
                            std::string_view source) {
        if (!said) {
            out.push_back({option, std::move(value), source});
        }
    };
    const bool nvl72 = question.design == Design::nvl72;
    add(question.gpus_per_node.has_value(), "--gpus-per-node",
        fmt::format("{} GPUs", gpus_per_node(question)),
        nvl72 ? "GB200 NVL72: 18 trays of 4" : "HGX and DGX A100 to B300");
    add(question.nics_per_node.has_value(), "--nics",
        fmt::format("{} NICs", nics_per_node(question)), "one for each GPU, as DGX H100 has them");
    add(question.nic_gbps.has_value(), "--nic-gbps", fmt::format("{:g} Gb/s", usual_nic_gbps),
        "NDR InfiniBand: ConnectX-7");
    add(question.radix.has_value(), "--radix", fmt::format("{} ports", usual_radix),
        "Quantum-2 QM9700, 64 of 400 Gb/s");
    add(question.uplink_gbps.has_value(), "--uplink-gbps", "as a NIC", "one kind of switch");
    add(question.oversubscription.has_value(), "--oversubscription", "1:1",
        "NVIDIA's DGX SuperPOD designs");
    return out;
}

Result<> check_question(const PlanQuestion& asked) {
    const auto refuse = [](std::string why) { return fail(Errc::bad_input, std::move(why)); };
    if (asked.nodes.has_value() == asked.gpus.has_value()) {
        return refuse("say how large the cluster is: either --gpus or --nodes");
    }
    const auto nic_gbps = asked.nic_gbps.value_or(usual_nic_gbps);
    const auto ratio = asked.uplink_gbps.value_or(nic_gbps) / nic_gbps;
    if (!(nic_gbps > 0) || nic_gbps > most_gbps || !(ratio >= 1 / most_apart) ||
        ratio > most_apart) {
        return refuse(
            fmt::format("a NIC has more than 0 Gb/s, and an uplink is at most {} times as "
                        "fast or as slow",
                        most_apart));
    }
    for (const auto& ports : {asked.radix, asked.spine_radix}) {
        if (ports && (*ports < 2 || *ports > most_ports)) {
            return refuse(fmt::format("a switch has 2 to {} ports", most_ports));
        }
    }
    for (const auto times : {asked.oversubscription.value_or(1), asked.core_oversubscription}) {
        if (!(times >= 1) || times > most_oversubscription) {
            return refuse(
                fmt::format("an oversubscription is 1 to {}: 2 is 2:1, two ports down for "
                            "one up",
                            most_oversubscription));
        }
    }
    if (asked.tiers && (*asked.tiers < 1 || *asked.tiers > 3)) {
        return refuse("a fabric has 1, 2 or 3 tiers");
    }
    for (const auto& count : {asked.gpus_per_node, asked.nics_per_node}) {
        if (count && (*count < 1 || *count > most_per_node)) {
            return refuse(fmt::format("a node has 1 to {} GPUs, and so many NICs", most_per_node));
        }
    }
    if (asked.unit_nodes.value_or(1) < 1 || asked.unit_nodes.value_or(1) > most_planned_nodes) {
        return refuse(fmt::format("a unit has 1 to {} nodes", most_planned_nodes));
    }
    return {};
}

}  // namespace railhead::fabric
