// Which nodes of a partition a job may use: those with the GPUs asked for, within -C, less -x.
#include <algorithm>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "policy/usable.hpp"

namespace railhead::policy {

namespace {

/// Under slurmctld's locks a user's words are not weighed beyond this: no real job has so many.
constexpr std::size_t most_features = 16;

/// Whether every GPU node of the partition has the GPUs that the job needs of each.
bool all_have_gpus(const Work& work, const PartitionSite& partition, std::uint64_t gpus) {
    const bool type_fits = work.demand.type.empty() || partition.gpu_type == work.demand.type;
    return !partition.mixed && type_fits && gpus <= partition.gpus_per_node;
}

}  // namespace

std::optional<std::vector<std::string_view>> plain_features(std::string_view constraint) {
    if (constraint.find_first_of("|[]()*,!") != std::string_view::npos) {
        return std::nullopt;
    }
    std::vector<std::string_view> features;
    for (const auto part : split(constraint, '&')) {
        if (!trim(part).empty()) {
            features.push_back(trim(part));
        }
    }
    if (features.size() > most_features) {
        return std::nullopt;
    }
    return features;
}

std::optional<std::vector<std::uint32_t>> indices_of(std::string_view list, const Site& site) {
    // Under slurmctld's locks: a user's list is not expanded beyond what the cluster has.
    const auto names = job::expand_hostlist(list, site.cluster.nodes.size());
    return names ? std::optional{indices_of(*names, site)} : std::nullopt;
}

const Narrowing* narrowing_of(Work& work, std::uint64_t nodes) {
    if (!work.narrowing_read) {
        work.narrowing_read = true;
        auto features = plain_features(work.request.constraint);
        auto excluded = indices_of(work.request.exclude, work.site);
        if (features && excluded && !work.demand.several_types) {
            work.narrowing = {std::move(*features), std::move(*excluded)};
        }
    }
    if (work.narrowing) {
        work.narrowing->gpus = gpus_a_node(work, nodes);
    }
    return work.narrowing ? &*work.narrowing : nullptr;
}

std::uint64_t gpus_a_node(const Work& work, std::uint64_t nodes) {
    const auto& demand = work.demand;
    const auto gpus = demand.per_node > 0 ? demand.per_node : (demand.total + nodes - 1) / nodes;
    return std::max<std::uint64_t>(1, gpus);
}

NodeSet usable_nodes(const Work& work, const PartitionSite& partition, const Narrowing& narrowing,
                     std::string_view feature) {
    auto set = partition.gpu_set;
    const auto keep = [&](std::string_view name) {
        const auto with = work.site.by_feature.find(name);
        set &= with != work.site.by_feature.end() ? with->second
                                                  : NodeSet{work.site.cluster.nodes.size()};
    };
    std::ranges::for_each(narrowing.features, keep);
    if (!feature.empty()) {
        keep(feature);
    }
    for (const auto node : narrowing.excluded) {
        set.remove(node);
    }
    if (!all_have_gpus(work, partition, narrowing.gpus)) {
        set.each([&](auto node) {
            if (!has_gpus(work.site.cluster.nodes[node], work.demand, narrowing.gpus)) {
                set.remove(node);
            }
        });
    }
    return set;
}

std::vector<std::uint32_t> leaf_sizes_of(const PartitionSite& partition, const FabricSite& fabric,
                                         const NodeSet& nodes) {
    std::vector<std::uint32_t> sizes(partition.leaf_sizes.size());
    if (!fabric.leaf_runs.empty()) {
        std::ranges::transform(fabric.leaf_runs, sizes.begin(), [&](const auto& run) {
            return static_cast<std::uint32_t>(nodes.count(run.first, run.second));
        });
        return sizes;
    }
    nodes.each([&](auto node) {
        if (const auto leaf = fabric.leaf_of[node]; leaf != FabricSite::no_leaf) {
            ++sizes[leaf];
        }
    });
    return sizes;
}

std::vector<std::uint32_t> usable_leaf_sizes(const Work& work, const PartitionSite& partition,
                                             const FabricSite& fabric,
                                             const Narrowing& narrowing) {
    if (!narrowing.features.empty() || !all_have_gpus(work, partition, narrowing.gpus)) {
        return leaf_sizes_of(partition, fabric, usable_nodes(work, partition, narrowing));
    }
    // All but a few: taking these off is quicker than counting the others.
    auto sizes = partition.leaf_sizes;
    auto last = FabricSite::no_leaf;
    for (const auto node : narrowing.excluded) {
        const auto leaf = fabric.leaf_of[node];
        if (node != last && leaf != FabricSite::no_leaf && partition.gpu_set.contains(node)) {
            --sizes[leaf];
        }
        last = node;  // ascending, and a user may name a node twice
    }
    return sizes;
}

bool can_do_with(const Work& work, const PartitionSite& partition, const NodeSet& all,
                 const NodeSet& fewer) {
    if (fewer.count() < work.nodes) {
        return false;
    }
    const auto* fabric = work.site.fabric_of(partition);
    if (fabric == nullptr || work.nodes < 2) {
        return true;
    }
    const bool tree = fabric->fabric.kind == fabric::Kind::tree;
    if (tree && fabric->networks.size() == 1 && partition.off_fabric.empty()) {
        return true;
    }
    const auto left = spans_of(*fabric, leaf_sizes_of(partition, *fabric, fewer));
    if (tree || left.front().least(work.nodes) == 0) {
        return left.front().least(work.nodes) > 0;
    }
    const auto before = spans_of(*fabric, leaf_sizes_of(partition, *fabric, all));
    return std::ranges::equal(left, before, {}, [&](const auto& level) { return level.least(work.nodes); },
                              [&](const auto& level) { return level.least(work.nodes); });
}

}  // namespace railhead::policy
