#include "fabric/plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

constexpr double rounding = 1e-9;

/// The least whole number that is no less than `value`, where 2.0000000001 is meant for 2.
std::uint32_t up(double value) {
    return static_cast<std::uint32_t>(std::ceil(value - rounding));
}

std::uint32_t divided_up(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint32_t>((a + b - 1) / b);
}

/// The least divisor of `links` that leaves no more than `ports` on each of so many switches,
/// where `below` switches have `links` each; 0 when even one link from each is too many.
std::uint32_t least_switches(std::uint32_t links, std::uint64_t below, std::uint32_t ports) {
    for (std::uint32_t count = 1; count <= links; ++count) {
        if (links % count == 0 && below * (links / count) <= ports) {
            return count;
        }
    }
    return 0;
}

class Planner {
 public:
    explicit Planner(const PlanQuestion& question)
        : asked_{question}, oversubscription_{question.oversubscription.value_or(1)} {}

    Result<Plan> run() {
        if (auto done = check_question(asked_); !done) {
            return propagate(done);
        }
        for (const auto step : {&Planner::set_size, &Planner::set_switches, &Planner::set_unit,
                                &Planner::choose_tiers}) {
            if (auto done = (this->*step)(); !done) {
                return propagate(done);
            }
        }
        set_upper_tiers();
        count_links();
        count_free();
        return plan_;
    }

 private:
    Result<> set_size();
    Result<> set_switches();
    Result<> set_unit();
    Result<> set_given_unit(std::uint32_t step);
    void set_spine_ports();
    Result<> choose_tiers();
    void set_upper_tiers();
    void count_links();
    void count_free();

    /// Ports that a node takes on one leaf.
    [[nodiscard]] std::uint32_t node_ports() const {
        return plan_.design == Design::spine_leaf ? plan_.nics_per_node : 1;
    }
    [[nodiscard]] std::uint32_t network_nics() const {
        return plan_.nics_per_node / plan_.networks;
    }
    [[nodiscard]] std::uint32_t uplinks_for(std::uint64_t down) const {
        return up(static_cast<double>(down) * plan_.nic_gbps /
                  (oversubscription_ * plan_.uplink_gbps));
    }
    [[nodiscard]] bool leaf_takes(std::uint64_t down) const {
        return static_cast<double>(down) * plan_.nic_gbps + uplinks_for(down) * plan_.uplink_gbps <=
               plan_.leaf_radix * plan_.nic_gbps * (1 + rounding);
    }
    /// The most nodes of a unit, in whole `step`s, that leave a leaf the ports for its uplinks.
    [[nodiscard]] std::uint32_t largest_unit(std::uint32_t step) const {
        std::uint32_t nodes = 0;
        while (leaf_takes(std::uint64_t{nodes + step} * node_ports())) {
            nodes += step;
        }
        return nodes;
    }
    [[nodiscard]] bool is_one_switch() const {
        return plan_.unit_leaves == plan_.networks &&
               std::uint64_t{plan_.nodes} * node_ports() <= plan_.leaf_radix;
    }
    [[nodiscard]] std::uint64_t most_nodes_of(unsigned tiers) const;
    /// Leaf switches of a unit in one network.
    [[nodiscard]] std::uint32_t network_leaves() const {
        return plan_.unit_leaves / plan_.networks;
    }

    const PlanQuestion& asked_;
    double oversubscription_;
    Plan plan_;
};

Result<> Planner::set_size() {
    plan_.design = asked_.design;
    plan_.gpus_per_node = gpus_per_node(asked_);
    plan_.nics_per_node = nics_per_node(asked_);
    plan_.nodes = asked_.nodes ? *asked_.nodes : divided_up(*asked_.gpus, plan_.gpus_per_node);
    plan_.asked_gpus = asked_.gpus;
    plan_.asked_oversubscription = oversubscription_;
    plan_.assumptions = assumptions_of(asked_);
    plan_.networks = asked_.design == Design::rail_only ? plan_.nics_per_node : 1;
    plan_.unit_leaves = asked_.design == Design::spine_leaf ? 1 : plan_.nics_per_node;
    if (plan_.nodes < 1 || plan_.nodes > most_planned_nodes) {
        return fail(Errc::bad_input,
                    fmt::format("a cluster has 1 to {} nodes", most_planned_nodes));
    }
    return {};
}

Result<> Planner::set_switches() {
    plan_.nic_gbps = asked_.nic_gbps.value_or(usual_nic_gbps);
    plan_.uplink_gbps = asked_.uplink_gbps.value_or(plan_.nic_gbps);
    plan_.leaf_radix = asked_.radix.value_or(usual_radix);
    const auto ports = plan_.leaf_radix * plan_.nic_gbps / plan_.uplink_gbps;
    if (!asked_.spine_radix && (std::abs(ports - std::round(ports)) > rounding || ports < 2)) {
        return fail(Errc::bad_input,
                    fmt::format("{} ports of {:g} Gb/s are {:.1f} ports of {:g} Gb/s: say with "
                                "--spine-radix how many a spine has",
                                plan_.leaf_radix, plan_.nic_gbps, ports, plan_.uplink_gbps));
    }
    plan_.spine_radix = asked_.spine_radix.value_or(static_cast<std::uint32_t>(std::lround(ports)));
    return {};
}

/// Sets unit_nodes, leaf_down and leaf_up.
Result<> Planner::set_unit() {
    if (is_one_switch() && asked_.tiers.value_or(1) == 1 && !asked_.unit_nodes) {
        plan_.unit_nodes = plan_.leaf_radix / node_ports();
        plan_.leaf_down = plan_.unit_nodes * node_ports();
        return {};
    }
    if (plan_.leaf_radix % 2 == 1 && oversubscription_ == 1 && !asked_.unit_nodes) {
        return fail(Errc::bad_input,
                    fmt::format("a switch of {} ports does not split into as many up as down: "
                                "--radix {} fits, or --unit-nodes, or an --oversubscription",
                                plan_.leaf_radix, plan_.leaf_radix - 1));
    }
    const auto step = asked_.design == Design::nvl72 ? nvl72_nodes : 1;
    if (asked_.unit_nodes) {
        return set_given_unit(step);
    }
    plan_.unit_nodes = largest_unit(step);
    if (plan_.unit_nodes == 0) {
        return fail(Errc::bad_input,
                    fmt::format("a leaf of {} ports has no room for the {} ports of {} and its "
                                "uplinks at {:g}:1: take a larger --radix, a higher "
                                "--oversubscription{}",
                                plan_.leaf_radix, step * node_ports(),
                                step > 1 ? "an NVLink domain" : "a node", oversubscription_,
                                step > 1 ? "" : ", or --design rail-optimized"));
    }
    plan_.leaf_down = plan_.unit_nodes * node_ports();
    plan_.leaf_up = uplinks_for(plan_.leaf_down);
    return {};
}

Result<> Planner::set_given_unit(std::uint32_t step) {
    plan_.unit_nodes = *asked_.unit_nodes;
    const auto down = std::uint64_t{plan_.unit_nodes} * node_ports();
    if (!leaf_takes(down)) {
        return fail(Errc::bad_input,
                    fmt::format("a leaf of {} ports has no room for {} down and their uplinks at "
                                "{:g}:1: the largest unit is {}",
                                plan_.leaf_radix, count_of(down, "port"), oversubscription_,
                                count_of(largest_unit(step), "node")));
    }
    if (plan_.unit_nodes % step != 0) {
        return fail(Errc::bad_input, fmt::format("a unit holds whole NVLink domains: --unit-nodes "
                                                 "is a multiple of {}",
                                                 step));
    }
    plan_.leaf_down = static_cast<std::uint32_t>(down);
    plan_.leaf_up = uplinks_for(down);
    return {};
}

/// How a spine of three tiers shares out its ports, and how many units a pod holds then.
void Planner::set_spine_ports() {
    const auto up_for = [this](std::uint32_t down) {
        return up(down / asked_.core_oversubscription);
    };
    while (plan_.spine_down + 1 + up_for(plan_.spine_down + 1) <= plan_.spine_radix) {
        ++plan_.spine_down;
    }
    plan_.spine_up = up_for(plan_.spine_down);
    plan_.pod_units = plan_.spine_down / network_leaves();
}

std::uint64_t Planner::most_nodes_of(unsigned tiers) const {
    switch (tiers) {
        case 1:
            return is_one_switch() ? plan_.leaf_radix / node_ports() : 0;
        case 2:
            return std::uint64_t{plan_.spine_radix / network_leaves()} * plan_.unit_nodes;
        default:
            return std::uint64_t{plan_.spine_radix} * plan_.pod_units * plan_.unit_nodes;
    }
}

/// Sets tiers and units.
Result<> Planner::choose_tiers() {
    set_spine_ports();
    const bool one = plan_.leaf_up == 0;
    plan_.tiers = asked_.tiers.value_or(one ? 1 : plan_.nodes <= most_nodes_of(2) ? 2 : 3);
    plan_.nodes_by_tiers = most_nodes_of(plan_.tiers);
    plan_.units = divided_up(plan_.nodes, plan_.unit_nodes);
    if (plan_.tiers == 1 && !one) {
        return fail(Errc::bad_input, fmt::format("one tier holds the NICs of {} only where a leaf "
                                                 "has the ports for all of them: use --tiers 2",
                                                 count_of(plan_.nodes, "node")));
    }
    if (plan_.tiers < 3 && asked_.core_oversubscription > 1) {
        return fail(
            Errc::bad_input,
            fmt::format(
                "--core-oversubscription {:g} is of a spine's uplinks, and a plan of {} has "
                "none: leave it out, or use --tiers 3",
                asked_.core_oversubscription, count_of(plan_.tiers, "tier")));
    }
    if (plan_.nodes <= plan_.nodes_by_tiers) {
        return {};
    }
    const auto deepest = most_nodes_of(3);
    if (deepest == 0) {
        return fail(
            Errc::bad_input,
            fmt::format("two tiers hold at most {}, and the {} leaves of a unit are too many "
                        "for the {} ports that a spine of three tiers has down",
                        count_of(most_nodes_of(2), "node"), network_leaves(), plan_.spine_down));
    }
    const auto hint = plan_.nodes <= deepest ? std::string{"; --tiers 3 holds them"}
                      : plan_.tiers < 3      ? fmt::format("; 3 tiers hold {}", deepest)
                                             : std::string{};
    return fail(Errc::bad_input,
                fmt::format("{} of {} ports hold at most {} ({}), not {}{}: take a larger --radix "
                            "or a higher --oversubscription",
                            count_of(plan_.tiers, "tier"), plan_.leaf_radix,
                            count_of(plan_.nodes_by_tiers, "node"),
                            count_of(plan_.nodes_by_tiers * plan_.gpus_per_node, "GPU"),
                            plan_.nodes, hint));
}

void Planner::set_upper_tiers() {
    plan_.leaves = plan_.units * plan_.unit_leaves;
    const auto leaves = plan_.units * network_leaves();
    if (plan_.tiers == 1) {
        plan_.pod_units = plan_.units;
        plan_.spine_down = plan_.spine_up = 0;
    } else if (plan_.tiers == 2) {
        const auto spines = least_switches(plan_.leaf_up, leaves, plan_.spine_radix);
        plan_.spines = spines * plan_.networks;
        plan_.leaf_spine_pair = plan_.leaf_up / spines;
        plan_.pod_units = plan_.units;
        plan_.spine_down = plan_.spine_radix;
        plan_.spine_up = 0;
    } else {
        plan_.pods = divided_up(plan_.units, plan_.pod_units);
        plan_.spines = plan_.leaf_up * plan_.pods * plan_.networks;
        plan_.leaf_spine_pair = 1;
        const auto cores = least_switches(plan_.spine_up, plan_.pods, plan_.spine_radix);
        plan_.cores = cores * plan_.leaf_up * plan_.networks;
        plan_.spine_core_pair = plan_.spine_up / cores;
    }
}

void Planner::count_links() {
    plan_.node_links = std::uint64_t{plan_.nodes} * plan_.nics_per_node;
    plan_.leaf_spine_links = std::uint64_t{plan_.leaves} * plan_.leaf_up;
    plan_.spine_core_links = std::uint64_t{plan_.spines} * plan_.spine_up;
    plan_.bisection_gbps = static_cast<double>(plan_.node_links) * plan_.nic_gbps / 2;
    if (plan_.tiers > 1) {
        plan_.leaf_oversubscription =
            plan_.leaf_down * plan_.nic_gbps / (plan_.leaf_up * plan_.uplink_gbps);
        plan_.bisection_gbps =
            std::min(plan_.bisection_gbps,
                     static_cast<double>(plan_.leaf_spine_links) * plan_.uplink_gbps / 2);
    }
    if (plan_.tiers > 2) {
        plan_.core_oversubscription =
            static_cast<double>(plan_.pod_units * network_leaves()) / plan_.spine_up;
        plan_.core_oversubscription = std::max(plan_.core_oversubscription, 1.0);
    }
    if (plan_.pods > 1) {
        plan_.bisection_gbps =
            std::min(plan_.bisection_gbps,
                     static_cast<double>(plan_.spine_core_links) * plan_.uplink_gbps / 2);
    }
}

void Planner::count_free() {
    const auto leaf_ports = std::floor(
        plan_.leaf_radix - plan_.leaf_up * plan_.uplink_gbps / plan_.nic_gbps + rounding);
    plan_.free_leaf_ports =
        plan_.leaves * static_cast<std::uint64_t>(leaf_ports) - plan_.node_links;
    plan_.free_spine_ports = std::uint64_t{plan_.spines} * plan_.spine_radix -
                             plan_.leaf_spine_links - plan_.spine_core_links;
    plan_.free_core_ports = std::uint64_t{plan_.cores} * plan_.spine_radix - plan_.spine_core_links;
    plan_.free_nodes = std::uint64_t{plan_.units} * plan_.unit_nodes - plan_.nodes;
    const auto unit_ports = std::uint64_t{plan_.leaf_spine_pair} * network_leaves();
    const std::uint64_t units =
        plan_.tiers == 1 ? plan_.units
        : plan_.tiers == 2
            ? plan_.spine_radix / unit_ports
            : std::uint64_t{plan_.spine_radix / plan_.spine_core_pair} * plan_.pod_units;
    plan_.nodes_by_switches = units * plan_.unit_nodes;
}

}  // namespace

double Plan::bisection_share() const {
    return bisection_gbps / (static_cast<double>(node_links) * nic_gbps / 2);
}

Result<Plan> make_plan(const PlanQuestion& question) {
    return Planner{question}.run();
}

}  // namespace railhead::fabric
