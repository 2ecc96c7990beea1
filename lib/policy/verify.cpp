#include "policy/verify.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::policy {

namespace {

bool has_features(const fabric::NodeFacts& node, const std::vector<std::string>& features) {
    return std::ranges::all_of(features, [&node](const std::string& feature) {
        return std::ranges::find(node.features, feature) != node.features.end();
    });
}

/// How many nodes of each leaf could have been taken.  Those that were taken count in any case.
std::vector<std::uint32_t> usable_sizes(const Site& site, const PartitionSite& partition,
                                        const FabricSite& fabric, const Allocation& allocation) {
    const auto taken = indices_of(allocation.nodes, site);
    const auto excluded = indices_of(allocation.excluded, site);
    const auto& nodes = site.cluster.nodes;
    const bool gpus_only =
        std::ranges::all_of(taken, [&](auto index) { return nodes[index].gpu_total() > 0; });
    std::set<std::uint32_t> usable{taken.begin(), taken.end()};
    for (const auto index : partition.limits.nodes) {
        if ((!gpus_only || nodes[index].gpu_total() > 0) &&
            has_features(nodes[index], allocation.features) &&
            !std::ranges::binary_search(excluded, index)) {
            usable.insert(index);
        }
    }
    std::vector<std::uint32_t> sizes(fabric.fabric.leaves().size());
    for (const auto index : usable) {
        if (fabric.leaf_of[index] != FabricSite::no_leaf) {
            ++sizes[fabric.leaf_of[index]];
        }
    }
    return sizes;
}

/// Deals the nodes to their leaves; gives the leaves that have some, by index.
std::vector<std::uint32_t> share_out(const Site& site, const FabricSite& fabric,
                                     Placement& placement) {
    std::vector<LeafShare> all(fabric.fabric.leaves().size());
    for (const auto& name : placement.nodes) {
        const auto index = site.cluster.find_node(name);
        if (!index || fabric.leaf_of[*index] == FabricSite::no_leaf) {
            placement.off_fabric.push_back(name);
        } else {
            all[fabric.leaf_of[*index]].nodes.push_back(name);
        }
    }
    std::vector<std::uint32_t> touched;
    for (std::uint32_t leaf = 0; leaf < all.size(); ++leaf) {
        if (!all[leaf].nodes.empty()) {
            all[leaf].name = fabric.fabric.leaf_name(leaf);
            placement.leaves.push_back(std::move(all[leaf]));
            touched.push_back(leaf);
        }
    }
    return touched;
}

}  // namespace

std::optional<bool> Placement::is_minimal() const {
    if (kind == fabric::Kind::none || !off_fabric.empty()) {
        return std::nullopt;
    }
    bool known = false;
    for (const auto& level : levels) {
        if (level.least > 0 && level.span > level.least) {
            return false;
        }
        known = known || level.least > 0;
    }
    return known ? std::optional{true} : std::nullopt;
}

Result<Placement> verify_placement(const Site& site, const Allocation& allocation) {
    const auto* partition = site.find(allocation.partition);
    if (partition == nullptr) {
        return fail(Errc::not_found,
                    allocation.partition.empty()
                        ? std::string{"slurm.conf has no default partition: name one with "
                                      "--partition"}
                        : fmt::format("slurm.conf has no partition \"{}\"",
                                      printable(allocation.partition)));
    }
    Placement placement;
    placement.partition = partition->name;
    placement.nodes = allocation.nodes;
    const auto* fabric = site.fabric_of(*partition);
    if (fabric == nullptr) {
        return placement;
    }
    placement.kind = fabric->fabric.kind;
    const auto touched = share_out(site, *fabric, placement);
    const auto count = placement.nodes.size() - placement.off_fabric.size();
    const auto spans = spans_of(*fabric, usable_sizes(site, *partition, *fabric, allocation));
    placement.levels.push_back(
        {0, static_cast<std::uint32_t>(touched.size()), spans.front().least(count)});
    for (std::size_t i = 0; i < fabric->levels.size(); ++i) {
        const auto& level = fabric->levels[i];
        std::set<std::uint32_t> groups;
        for (const auto leaf : touched) {
            groups.insert(level.group_of[leaf]);
        }
        placement.levels.push_back(
            {level.level, static_cast<std::uint32_t>(groups.size()), spans[i + 1].least(count)});
    }
    return placement;
}

}  // namespace railhead::policy
