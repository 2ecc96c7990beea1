#include "rails/rail_plan.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rails/candidates.hpp"
#include "rails/pairing.hpp"

namespace railhead::rails {

namespace {

using node::Nic;
using node::Node;

// ---- the site's own list ------------------------------------------------------------------

/// "mlx5_0" and "mlx5_0:1" both name port 1.
std::string with_port(const std::string& name) {
    return name.find(':') == std::string::npos ? name + ":1" : name;
}

void take_declared(const Node& node, const std::vector<std::string>& declared, RailPlan& plan) {
    std::vector<std::string> names;
    names.reserve(declared.size());
    for (const auto& name : declared) {
        names.push_back(with_port(name));
    }
    plan.list = fmt::format("{}", fmt::join(names, ","));
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        const auto device = node.nics[nic].name + ":";
        if (std::ranges::any_of(
                names, [&](const std::string& name) { return name.starts_with(device); })) {
            plan.rails.push_back(nic);
        } else {
            plan.left_out.push_back({nic, "not in the site's list of rails"});
        }
    }
    for (const auto& name : names) {
        const auto device = name.substr(0, name.find(':'));
        if (std::ranges::find(node.nics, device, &Nic::name) == node.nics.end()) {
            plan.missing.push_back(device);
        }
    }
}

}  // namespace

RailPlan plan_rails(const Node& node, const std::vector<std::string>& declared) {
    RailPlan plan;
    if (!declared.empty()) {
        take_declared(node, declared, plan);
    } else {
        auto found = find_rails(node);
        plan.rails = std::move(found.rails);
        plan.left_out = std::move(found.left_out);
        plan.list = node.incomplete.empty() ? device_list(node, plan.rails) : "";
    }
    plan.gpus = pair_gpus(node, plan.rails);
    return plan;
}

std::string device_port(const Nic& nic) {
    return fmt::format("{}:{}", nic.name, nic.port);
}

std::string device_list(const Node& node, const std::vector<std::size_t>& nics) {
    std::vector<std::string> names;
    names.reserve(nics.size());
    for (const auto nic : nics) {
        names.push_back(device_port(node.nics[nic]));
    }
    return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace railhead::rails
