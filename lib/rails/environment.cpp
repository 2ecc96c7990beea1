#include "rails/environment.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace railhead::rails {

namespace {

constexpr std::string_view hca = "NCCL_IB_HCA";
constexpr std::string_view ucx = "UCX_NET_DEVICES";
constexpr std::string_view rails_marker = "RAILHEAD_RAILS";
constexpr std::string_view nic_marker = "RAILHEAD_NIC";

/// "=" is NCCL's exact match: without it "mlx5_1" also names mlx5_10.
std::string exact(const std::string& list) {
    return "=" + list;
}

/// Whether the variable's value is the one that our marker beside it says we set.
bool is_ours(std::string_view name, const std::string& value, const Lookup& environment) {
    const auto marker = environment(name == hca ? rails_marker : nic_marker);
    return marker && value == (name == hca ? exact(*marker) : *marker);
}

/// Who set the variable, if anybody did.
std::optional<Owner> owner_of(std::string_view name, const std::vector<Owner>& conf,
                              const Lookup& environment) {
    if (const auto value = environment(name); value && !is_ours(name, *value, environment)) {
        return Owner{std::string{name}, "the environment"};
    }
    const auto file = std::ranges::find(conf, name, &Owner::name);
    return file == conf.end() ? std::nullopt : std::optional{*file};
}

/// Devices that do not speak InfiniBand verbs, as people call them; "" for one that does.
std::string_view libfabric_name(const node::Nic& nic) {
    return nic.kind.starts_with("1d0f:") ? "EFA" : nic.kind.starts_with("17db:") ? "Slingshot" : "";
}

}  // namespace

EnvironmentPlan plan_environment(const node::Node& node, const RailPlan& plan,
                                 const std::vector<std::size_t>& nics,
                                 const std::vector<Owner>& conf, const Lookup& environment,
                                 bool per_task) {
    EnvironmentPlan result;
    const auto set = [&](std::string_view name, const std::string& value) {
        if (auto owner = owner_of(name, conf, environment)) {
            result.kept.push_back(std::move(*owner));
        } else {
            result.changes.push_back({std::string{name}, value});
        }
    };
    if (plan.list.empty()) {
        result.changes = clean_environment(environment);
        result.silence = node.incomplete.empty() ? "this node has no rails" : node.incomplete;
        return result;
    }
    std::string_view libfabric;
    for (const auto nic : plan.rails) {
        libfabric = std::max(libfabric, libfabric_name(node.nics[nic]));
    }
    if (!libfabric.empty()) {
        result.silence = fmt::format("NCCL reaches {} devices through libfabric", libfabric);
    } else {
        set(hca, exact(plan.list));
        if (per_task && !nics.empty()) {
            set(ucx, device_list(node, nics));
        }
    }
    result.changes.push_back({std::string{rails_marker}, plan.list});
    if (per_task && !nics.empty()) {
        result.changes.push_back({std::string{nic_marker}, device_list(node, nics)});
    }
    return result;
}

std::vector<Change> clean_environment(const Lookup& environment) {
    std::vector<Change> changes;
    for (const auto name : {hca, ucx}) {
        if (const auto value = environment(name); value && is_ours(name, *value, environment)) {
            changes.push_back({std::string{name}, std::nullopt});
        }
    }
    for (const auto marker : {rails_marker, nic_marker}) {
        if (environment(marker)) {
            changes.push_back({std::string{marker}, std::nullopt});
        }
    }
    return changes;
}

}  // namespace railhead::rails
