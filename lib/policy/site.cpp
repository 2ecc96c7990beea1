#include "policy/site.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::policy {

namespace {

NodeCapacity capacity_of(const fabric::NodeFacts& node, const fabric::Partition& limits) {
    NodeCapacity capacity;
    const auto spec = node.core_spec * node.threads_per_core;
    capacity.all_cpus = node.cpus;
    capacity.cpus = node.cpus > spec ? node.cpus - spec : 0;
    capacity.cpus = std::min(capacity.cpus, limits.max_cpus_per_node.value_or(capacity.cpus));
    capacity.threads_per_core = node.threads_per_core;
    capacity.memory_mb = node.memory_mb > node.mem_spec_mb ? node.memory_mb - node.mem_spec_mb : 0;
    return capacity;
}

NodeCapacity least(const NodeCapacity& a, const NodeCapacity& b) {
    NodeCapacity both;
    both.cpus = std::min(a.cpus, b.cpus);
    both.all_cpus = std::min(a.all_cpus, b.all_cpus);
    both.cpus_uniform = a.cpus_uniform && a.cpus == b.cpus && a.all_cpus == b.all_cpus;
    both.threads_per_core = std::max(a.threads_per_core, b.threads_per_core);
    both.memory_mb = std::min(a.memory_mb, b.memory_mb);
    return both;
}

void add_gpu_node(PartitionSite& site, std::uint32_t index, const fabric::NodeFacts& node) {
    const auto capacity = capacity_of(node, site.limits);
    const auto gpus = node.gpu_total();
    const bool first = site.gpu_nodes.empty();
    site.capacity = first ? capacity : least(site.capacity, capacity);
    site.mixed = site.mixed || node.gpus.size() > 1 || (!first && gpus != site.gpus_per_node);
    const auto& type = node.gpus.begin()->first;
    site.several_types = site.several_types || (!first && type != site.gpu_type);
    site.gpu_type = site.several_types ? std::string{} : type;
    site.gpus_per_node = gpus;
    site.gpu_nodes.push_back(index);
    site.gpu_set.add(index);
}

/// The least of what is not 0; 0 when all are.
std::uint32_t smallest(const std::vector<std::uint32_t>& sizes) {
    std::uint32_t least = 0;
    for (const auto size : sizes) {
        least = size > 0 && (least == 0 || size < least) ? size : least;
    }
    return least;
}

void warn_of_unknown_nodes(Site& site, std::string_view what,
                           const std::vector<std::string>& unknown) {
    if (!unknown.empty()) {
        site.warnings.push_back(
            {Errc::bad_input,
             fmt::format("{} names {} unknown to slurm.conf, the first is \"{}\"", what,
                         count_of(unknown.size(), "node"), printable(unknown.front())),
             {}});
    }
}

void map_features(Site& site) {
    const auto& nodes = site.cluster.nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        for (const auto& feature : nodes[i].features) {
            site.by_feature.try_emplace(feature, nodes.size()).first->second.add(i);
        }
    }
}

/// The fabric that Slurm places a partition's jobs by: the one it names, else the default one.
std::optional<std::uint32_t> governing_fabric(const Site& site,
                                              const fabric::Partition& partition) {
    const auto& all = site.fabrics;
    const auto& wanted = partition.topology;
    // Slurm calls the one of topology.conf "default".
    const auto governs = [&](const FabricSite& one) {
        const auto& name = one.fabric.name;
        return wanted.empty() ? one.fabric.is_default
                              : name == wanted || (name.empty() && wanted == "default");
    };
    const auto found = std::ranges::find_if(all, governs);
    if (found != all.end()) {
        return static_cast<std::uint32_t>(found - all.begin());
    }
    // Where none is marked as the default one, it is the first.
    return wanted.empty() && !all.empty() ? std::optional{0U} : std::nullopt;
}

void set_spans(PartitionSite& partition, const FabricSite& fabric) {
    partition.leaf_sizes.resize(fabric.fabric.leaves().size());
    for (const auto index : partition.gpu_nodes) {
        if (fabric.leaf_of[index] == FabricSite::no_leaf) {
            partition.off_fabric.push_back(index);
        } else {
            ++partition.leaf_sizes[fabric.leaf_of[index]];
        }
    }
    partition.spans = spans_of(fabric, partition.leaf_sizes);
    partition.smallest_leaf = smallest(partition.leaf_sizes);
}

PartitionSite compile_partition(const fabric::Partition& partition, const Site& site) {
    PartitionSite result;
    result.name = partition.name;
    result.limits = partition;
    apply(site.policy.global, result.settings);
    for (const auto& overlay : site.policy.partitions) {
        if (overlay.partition == partition.name) {
            apply(overlay.overlay, result.settings);
        }
    }
    result.gpu_set = NodeSet{site.cluster.nodes.size()};
    for (const auto index : partition.nodes) {
        if (const auto& node = site.cluster.nodes[index]; node.gpu_total() > 0) {
            add_gpu_node(result, index, node);
        }
    }
    if (result.mixed) {
        result.gpus_per_node = 0;
    }
    result.fabric = governing_fabric(site, partition);
    if (const auto* fabric = site.fabric_of(result)) {
        set_spans(result, *fabric);
    }
    return result;
}

/// Only names that slurm.conf has: Slurm refuses a job whose -x names another.
void map_lemons(Site& site, const std::vector<Lemon>& lemons) {
    std::vector<std::string> unknown;
    std::map<std::uint32_t, std::int64_t> until_s;
    for (const auto& lemon : lemons) {
        for (const auto& name : lemon.nodes) {
            if (const auto index = site.cluster.find_node(name)) {
                auto& until = until_s.try_emplace(*index, lemon.until_s).first->second;
                until = std::max(until, lemon.until_s);
            } else {
                unknown.push_back(name);
            }
        }
    }
    for (const auto& [node, until] : until_s) {
        site.lemons.push_back({node, until});
    }
    warn_of_unknown_nodes(site, "the lemons file", unknown);
}

/// Which leaf each node of slurm.conf is on.
std::vector<std::uint32_t> map_leaves(const fabric::Fabric& fabric, const fabric::Cluster& cluster,
                                      std::vector<std::string>& unknown) {
    std::vector<std::uint32_t> leaf_of(cluster.nodes.size(), FabricSite::no_leaf);
    std::uint32_t leaf = 0;
    for (const auto nodes : fabric.leaves()) {
        for (const auto node : nodes) {
            const auto& name = fabric.nodes[node];
            if (const auto index = cluster.find_node(name)) {
                leaf_of[*index] = leaf;
            } else {
                unknown.push_back(name);
            }
        }
        ++leaf;
    }
    return leaf_of;
}

/// FabricSite::leaf_runs of `leaves` leaves.
std::vector<std::pair<std::uint32_t, std::uint32_t>> find_runs(
    const std::vector<std::uint32_t>& leaf_of, std::size_t leaves) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> runs(leaves);
    std::vector<std::uint32_t> sizes(leaves);
    for (std::uint32_t node = 0; node < leaf_of.size(); ++node) {
        if (const auto leaf = leaf_of[node]; leaf != FabricSite::no_leaf) {
            runs[leaf].first = sizes[leaf]++ == 0 ? node : runs[leaf].first;
            runs[leaf].second = node;
        }
    }
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        if (sizes[leaf] == 0 || runs[leaf].second - runs[leaf].first + 1 != sizes[leaf]) {
            return {};
        }
    }
    return runs;
}

/// "the topology", or which of several.
std::string called(const fabric::Fabric& fabric) {
    return fabric.name.empty() ? "the topology"
                               : fmt::format("topology \"{}\"", printable(fabric.name));
}

FabricSite compile_fabric(fabric::Fabric fabric, Site& site) {
    FabricSite result;
    std::vector<std::string> unknown;
    result.leaf_of = map_leaves(fabric, site.cluster, unknown);
    result.leaf_runs = find_runs(result.leaf_of, fabric.leaves().size());
    result.networks = fabric::find_networks(fabric);
    result.levels = fabric::find_levels(fabric);
    warn_of_unknown_nodes(site, called(fabric), unknown);
    result.fabric = std::move(fabric);
    return result;
}

void warn_of_unknown_topologies(Site& site) {
    for (const auto& partition : site.partitions) {
        if (!partition.fabric && !partition.limits.topology.empty() && !site.fabrics.empty()) {
            site.warnings.push_back(
                {Errc::bad_input,
                 fmt::format("partition {}: there is no topology \"{}\": its jobs are placed by "
                             "Slurm alone",
                             printable(partition.name), printable(partition.limits.topology)),
                 {}});
        }
    }
}

void warn_of_unknown_partitions(Site& site) {
    for (const auto& overlay : site.policy.partitions) {
        if (site.cluster.find_partition(overlay.partition) == nullptr) {
            site.warnings.push_back({Errc::bad_input,
                                     fmt::format("slurm.conf has no partition \"{}\"",
                                                 printable(overlay.partition)),
                                     overlay.where});
        }
    }
}

bool enforces_limits(std::string_view accounting_enforce) {
    for (const auto word : split(accounting_enforce, ',')) {
        for (const auto* limit : {"limits", "qos", "safe", "all"}) {
            if (equals_ignoring_case(trim(word), limit)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

const PartitionSite* Site::find(std::string_view name) const {
    if (name.empty()) {
        return default_ ? &partitions[*default_] : nullptr;
    }
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &partitions[found->second];
}

const FabricSite* Site::fabric_of(const PartitionSite& partition) const {
    if (!partition.fabric) {
        return nullptr;
    }
    const auto& fabric = fabrics[*partition.fabric];
    return fabric.fabric.is_planned() ? &fabric : nullptr;
}

std::uint32_t LevelSpans::least(std::uint64_t nodes) const {
    std::uint32_t least = 0;
    for (const auto& network : networks) {
        const auto span = network.least(nodes);
        if (span > 0 && (least == 0 || span < least)) {
            least = span;
        }
    }
    return least;
}

std::uint64_t LevelSpans::capacity() const {
    std::uint64_t most = 0;
    for (const auto& network : networks) {
        most = std::max(most, network.capacity());
    }
    return most;
}

namespace {

/// The spans of one level, where group_of says which switch of it each leaf is below.
LevelSpans level_spans(const FabricSite& fabric, std::span<const std::uint32_t> sizes,
                       unsigned level, std::uint32_t groups,
                       const std::vector<std::uint32_t>* group_of) {
    LevelSpans spans;
    spans.level = level;
    if (group_of == nullptr && fabric.networks.size() == 1) {  // which has every leaf
        spans.used = groups - static_cast<std::uint32_t>(std::ranges::count(sizes, 0U));
        spans.networks.emplace_back(sizes);
        return spans;
    }
    std::vector<std::uint32_t> sums(groups);
    const auto add = [&](std::uint32_t leaf) {
        sums[group_of != nullptr ? (*group_of)[leaf] : leaf] += sizes[leaf];
    };
    for (std::uint32_t leaf = 0; leaf < sizes.size(); ++leaf) {
        add(leaf);
    }
    spans.used = groups - static_cast<std::uint32_t>(std::ranges::count(sums, 0U));
    if (fabric.networks.size() == 1) {
        spans.networks.emplace_back(sums);
        return spans;
    }
    for (const auto& network : fabric.networks) {
        std::ranges::fill(sums, 0U);
        std::ranges::for_each(network, add);
        spans.networks.emplace_back(sums);
    }
    return spans;
}

}  // namespace

std::vector<LevelSpans> spans_of(const FabricSite& fabric, std::span<const std::uint32_t> sizes) {
    std::vector<LevelSpans> levels;
    levels.push_back(
        level_spans(fabric, sizes, 0, static_cast<std::uint32_t>(sizes.size()), nullptr));
    for (const auto& level : fabric.levels) {
        levels.push_back(level_spans(fabric, sizes, level.level, level.groups, &level.group_of));
    }
    return levels;
}

std::vector<std::uint32_t> indices_of(std::span<const std::string> names, const Site& site) {
    std::vector<std::uint32_t> indices;
    for (const auto& name : names) {
        if (const auto index = site.cluster.find_node(name)) {
            indices.push_back(*index);
        }
    }
    std::ranges::sort(indices);
    return indices;
}

Site compile(Policy policy, fabric::Cluster cluster, std::vector<fabric::Fabric> fabrics,
             const std::vector<Lemon>& lemons) {
    Site site;
    site.policy = std::move(policy);
    site.cluster = std::move(cluster);
    site.limits_enforced = enforces_limits(site.cluster.accounting_enforce);
    if (const auto most = fabric::find_parameter(site.cluster.scheduler_parameters, "max_switch_wait")) {
        site.max_switch_wait_s = parse_number<std::uint32_t>(*most).value_or(0);
    }
    map_features(site);
    map_lemons(site, lemons);
    for (auto& fabric : fabrics) {
        site.fabrics.push_back(compile_fabric(std::move(fabric), site));
    }
    warn_of_unknown_partitions(site);
    for (const auto& partition : site.cluster.partitions) {
        site.by_name_.emplace(partition.name, site.partitions.size());
        if (partition.is_default) {
            site.default_ = site.partitions.size();
        }
        site.partitions.push_back(compile_partition(partition, site));
    }
    warn_of_unknown_topologies(site);
    return site;
}

}  // namespace railhead::policy
