#include "report/fabric_plan.hpp"

#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using fabric::Design;
using fabric::Plan;

constexpr std::size_t width = 80;

/// "1.29", "2".
std::string number_text(double value) {
    auto text = fmt::format("{:.2f}", value);
    text.erase(text.find_last_not_of('0') + 1);
    text.erase(text.find_last_not_of('.') + 1);
    return text;
}

std::string ratio_text(double oversubscription) {
    return number_text(oversubscription) + ":1";
}

std::string node_text(const Plan& plan) {
    return fmt::format("{}, {} of {}", count_of(plan.gpus_per_node, "GPU"),
                       count_of(plan.nics_per_node, "NIC"), speed_text(plan.nic_gbps));
}

std::string switch_text(const Plan& plan) {
    auto text = fmt::format("leaf {} ports of {}", plan.leaf_radix, speed_text(plan.nic_gbps));
    if (plan.tiers > 1) {
        text += fmt::format("; {} {} ports of {}", plan.tiers > 2 ? "spine and core" : "spine",
                            plan.spine_radix, speed_text(plan.uplink_gbps));
    }
    return text;
}

std::string unit_text(const Plan& plan) {
    auto text = fmt::format(
        "{} of {}, {}: {}", grouped_count(plan.units, "unit"), count_of(plan.unit_nodes, "node"),
        count_of(std::uint64_t{plan.unit_nodes} * plan.gpus_per_node, "GPU"),
        plan.unit_leaves == 1 ? "one leaf"
                              : fmt::format("{} leaves, one a rail", plan.unit_leaves));
    if (plan.free_nodes > 0) {
        text += fmt::format("; the last one has {}",
                            count_of(plan.unit_nodes - plan.free_nodes, "node"));
    }
    if (plan.design == Design::nvl72) {
        text +=
            fmt::format("; NVLink domains in a unit: {}", plan.unit_nodes / fabric::nvl72_nodes);
    }
    if (plan.pods > 1) {
        text +=
            fmt::format(". {} of {}", count_of(plan.pods, "pod"), count_of(plan.pod_units, "unit"));
    }
    return text;
}

std::string tiers_table(const Plan& plan) {
    Table table{{"tier", "switches", "ports down", "ports up", "to each above", "free ports"}};
    const auto pair = [](std::uint32_t links) {
        return links == 0 ? std::string{"-"} : count_of(links, "link");
    };
    const auto up = [](std::uint32_t ports) {
        return ports == 0 ? std::string{"-"} : std::to_string(ports);
    };
    table.add({"leaf", grouped(plan.leaves), std::to_string(plan.leaf_down), up(plan.leaf_up),
               pair(plan.leaf_spine_pair), grouped(plan.free_leaf_ports)});
    if (plan.spines > 0) {
        table.add({"spine", grouped(plan.spines), std::to_string(plan.spine_down),
                   up(plan.spine_up), pair(plan.spine_core_pair), grouped(plan.free_spine_ports)});
    }
    if (plan.cores > 0) {
        table.add({"core", grouped(plan.cores), std::to_string(plan.spine_radix), "-", "-",
                   grouped(plan.free_core_ports)});
    }
    return table.text();
}

std::string cables_text(const Plan& plan) {
    auto text = fmt::format("{}: {} from nodes to leaves", grouped(plan.cables()),
                            grouped(plan.node_links));
    if (plan.tiers > 1) {
        text += fmt::format(", {} from leaves to spines", grouped(plan.leaf_spine_links));
    }
    if (plan.tiers > 2) {
        text += fmt::format(", {} from spines to cores", grouped(plan.spine_core_links));
    }
    return text;
}

std::string optics_text(const Plan& plan) {
    return fmt::format(
        "{} ports between switches, and {} more where nodes are not cabled in copper",
        grouped(2 * (plan.leaf_spine_links + plan.spine_core_links)), grouped(2 * plan.node_links));
}

std::string oversubscription_text(const Plan& plan) {
    if (plan.tiers == 1) {
        return plan.networks > 1 ? "none: one switch joins all NICs of a rail"
                                 : "none: one switch joins all NICs";
    }
    auto text = ratio_text(plan.leaf_oversubscription) + " at the leaves";
    if (ratio_text(plan.leaf_oversubscription) != ratio_text(plan.asked_oversubscription)) {
        text += fmt::format(" ({} was asked for: uplinks are whole)",
                            ratio_text(plan.asked_oversubscription));
    }
    if (plan.tiers > 2) {
        text += fmt::format(", {} at the spines: {} from pod to pod",
                            ratio_text(plan.core_oversubscription),
                            ratio_text(plan.leaf_oversubscription * plan.core_oversubscription));
    }
    return text;
}

std::string bisection_text(const Plan& plan) {
    constexpr double bytes = 1e9 / 8;
    return fmt::format("{} ({}) one way, {} of what half of the NICs send",
                       speed_text(plan.bisection_gbps), bandwidth_text(plan.bisection_gbps * bytes),
                       share_text(plan.bisection_share()));
}

std::string growth_table(const Plan& plan) {
    Table table;
    const auto add = [&](std::uint64_t nodes, const std::string& with) {
        table.add(
            {grouped_count(nodes, "node"), grouped_count(nodes * plan.gpus_per_node, "GPU"), with});
    };
    add(plan.nodes + plan.free_nodes, "with these leaves");
    if (plan.tiers > 1) {
        add(plan.nodes_by_switches, plan.tiers > 2 ? "with these cores" : "with these spines");
        add(plan.nodes_by_tiers,
            fmt::format("with {} of these switches", count_of(plan.tiers, "tier")));
    }
    return table.text(2);
}

/// The formulas that the figures come from, with this plan's numbers.
std::vector<std::string> formulas(const Plan& plan) {
    std::vector<std::string> lines;
    if (plan.tiers == 1) {
        lines.push_back(
            fmt::format("One switch{} has the ports for all NICs: there are no uplinks.",
                        plan.networks > 1 ? " a rail" : ""));
        return lines;
    }
    if (plan.networks == 1 && plan.unit_leaves > 1 && plan.node_links <= plan.leaf_radix) {
        lines.push_back(
            fmt::format("One switch has the ports for all {} NICs, but this design gives each rail "
                        "a leaf of its own, to grow by units: --design spine-leaf takes one.",
                        plan.node_links));
    }
    lines.push_back(
        fmt::format("Uplinks of a leaf: ports down x NIC / (oversubscription x uplink), rounded "
                    "up: {} x {:g} / "
                    "({} x {:g} Gb/s) gives {}.",
                    plan.leaf_down, plan.nic_gbps, number_text(plan.asked_oversubscription),
                    plan.uplink_gbps, plan.leaf_up));
    if (plan.tiers == 2) {
        lines.push_back(
            fmt::format("Spines{}: the fewest that divide the {} uplinks of a leaf, so that each "
                        "pair has as many "
                        "links, and have a port for each.",
                        plan.networks > 1 ? " of each rail" : "", plan.leaf_up));
    } else {
        lines.push_back(
            fmt::format("Spines: one for each uplink of a leaf in every pod; a pod's leaves fill "
                        "the ports that "
                        "a spine has down, {} of {} (Clos 1953; Leiserson 1985).",
                        plan.spine_down, plan.spine_radix));
        lines.push_back(
            fmt::format("Cores: for the spines of one number in all pods, the fewest that divide "
                        "the {} uplinks "
                        "of a spine and have a port for each.",
                        plan.spine_up));
    }
    lines.push_back(
        "Bisection: the least of what half of the NICs, of the uplinks of the leaves and "
        "of the spines carry.");
    lines.push_back("Optics: two ports a cable; a twin-port module counts as two.");
    return lines;
}

/// "Name  text", wrapped under itself.
void add_fact(std::string& out, std::string_view name, const std::string& text) {
    constexpr std::size_t indent = 12;
    bool first = true;
    for (const auto& line : wrap(text, width - indent)) {
        out += fmt::format("{:<{}}{}\n", first ? name : "", indent, line);
        first = false;
    }
}

}  // namespace

std::string speed_text(double gbps) {
    constexpr double step = 1000;
    return gbps < step          ? fmt::format("{:.4g} Gb/s", gbps)
           : gbps < step * step ? fmt::format("{:.4g} Tb/s", gbps / step)
                                : fmt::format("{:.4g} Pb/s", gbps / step / step);
}

std::string fabric_plan_text(const Plan& plan) {
    auto out = fmt::format("Fabric for {}, {}: {}, {}\n\n", grouped_count(plan.nodes, "node"),
                           grouped_count(plan.gpus(), "GPU"), to_string(plan.design),
                           count_of(plan.tiers, "tier"));
    if (plan.asked_gpus && *plan.asked_gpus != plan.gpus()) {
        add_fact(
            out, "Asked",
            fmt::format("{}, rounded up to whole nodes", grouped_count(*plan.asked_gpus, "GPU")));
    }
    add_fact(out, "Node", node_text(plan));
    add_fact(out, "Switch", switch_text(plan));
    add_fact(out, "Units", unit_text(plan));
    if (plan.networks > 1) {
        add_fact(out, "Networks",
                 fmt::format("{}, one a rail, that no switch joins: what goes from "
                             "rail to rail goes over NVLink first",
                             plan.networks));
    }
    out += '\n' + tiers_table(plan) + '\n';
    add_fact(out, "Cables", cables_text(plan));
    add_fact(out, "Optics", optics_text(plan));
    add_fact(out, "Oversubscr.", oversubscription_text(plan));
    add_fact(out, "Bisection", bisection_text(plan));
    out += "\nGrows to\n" + growth_table(plan);
    if (!plan.assumptions.empty()) {
        Table table;
        for (const auto& [option, value, source] : plan.assumptions) {
            table.add({std::string{option}, value, std::string{source}});
        }
        out += "\nTaken where nothing was said\n" + table.text(2);
    }
    out += "\nHow it is reckoned (docs/fabric.md has the published designs it meets)\n";
    for (const auto& formula : formulas(plan)) {
        std::string_view mark = "- ";
        for (const auto& line : wrap(formula, width - 4)) {
            out += fmt::format("  {}{}\n", mark, line);
            mark = "  ";
        }
    }
    return out;
}

}  // namespace railhead::report
