#include "rails/health_check.hpp"

#include <utility>

#include "base/child.hpp"

namespace railhead::rails {

namespace {

std::vector<Finding> look(const node::Node& node, const RailPlan& plan, const HealthCheck& check) {
    HealthFacts facts{node, plan, watched_nics(node, plan, check.declared), {}, {}, check.gpus};
    std::vector<node::PortName> names;
    for (const auto position : facts.watched) {
        const auto& nic = node.nics[position];
        facts.ports.push_back(node::read_port(check.root, nic.name, nic.port));
        if (facts.ports.back().present) {
            names.push_back({nic.name, nic.port});
        }
    }
    if (check.try_devices) {
        facts.unusable = check.try_devices(names);
    }
    return judge_health(facts);
}

}  // namespace

Result<std::vector<Finding>> check_health(const node::Node& node, const RailPlan& plan,
                                          const HealthCheck& check) {
    const auto text = run_in_child([&] { return to_wire(look(node, plan, check)); },
                                   "the NICs of this node", check.limit);
    if (!text) {
        return tl::unexpected{text.error()};
    }
    return findings_from_wire(*text);
}

}  // namespace railhead::rails
