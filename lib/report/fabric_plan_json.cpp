#include <nlohmann/json.hpp>

#include "report/fabric_plan.hpp"

namespace railhead::report {

namespace {

using fabric::Plan;
using json = nlohmann::ordered_json;

json switches_json(const Plan& plan) {
    return {{"leaf",
             {{"switches", plan.leaves},
              {"radix", plan.leaf_radix},
              {"ports_down", plan.leaf_down},
              {"ports_up", plan.leaf_up},
              {"links_to_each_above", plan.leaf_spine_pair},
              {"free_ports", plan.free_leaf_ports}}},
            {"spine",
             {{"switches", plan.spines},
              {"radix", plan.spine_radix},
              {"ports_down", plan.spine_down},
              {"ports_up", plan.spine_up},
              {"links_to_each_above", plan.spine_core_pair},
              {"free_ports", plan.free_spine_ports}}},
            {"core",
             {{"switches", plan.cores},
              {"radix", plan.spine_radix},
              {"free_ports", plan.free_core_ports}}}};
}

json links_json(const Plan& plan) {
    return {{"node_leaf", plan.node_links},
            {"leaf_spine", plan.leaf_spine_links},
            {"spine_core", plan.spine_core_links}};
}

json assumptions_json(const Plan& plan) {
    auto out = json::array();
    for (const auto& [option, value, source] : plan.assumptions) {
        out.push_back({{"option", option}, {"value", value}, {"source", source}});
    }
    return out;
}

}  // namespace

std::string fabric_plan_json(const Plan& plan) {
    const json out{{"schema", "railhead.fabric-plan/1"},
                   {"design", to_string(plan.design)},
                   {"nodes", plan.nodes},
                   {"gpus", plan.gpus()},
                   {"gpus_per_node", plan.gpus_per_node},
                   {"nics_per_node", plan.nics_per_node},
                   {"nic_gbps", plan.nic_gbps},
                   {"uplink_gbps", plan.uplink_gbps},
                   {"tiers", plan.tiers},
                   {"networks", plan.networks},
                   {"units", plan.units},
                   {"unit_nodes", plan.unit_nodes},
                   {"unit_leaves", plan.unit_leaves},
                   {"pods", plan.pods},
                   {"pod_units", plan.pod_units},
                   {"switches", switches_json(plan)},
                   {"links", links_json(plan)},
                   {"leaf_oversubscription", plan.leaf_oversubscription},
                   {"core_oversubscription", plan.core_oversubscription},
                   {"bisection_gbps", plan.bisection_gbps},
                   {"bisection_share", plan.bisection_share()},
                   {"free_nodes", plan.free_nodes},
                   {"nodes_by_switches", plan.nodes_by_switches},
                   {"nodes_by_tiers", plan.nodes_by_tiers},
                   {"assumptions", assumptions_json(plan)}};
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
