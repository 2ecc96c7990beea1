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

void map_features(Site& site) {
    const auto& nodes = site.cluster.nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        for (const auto& feature : nodes[i].features) {
            site.by_feature.try_emplace(feature, nodes.size()).first->second.add(i);
        }
    }
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
    result.leaf_sizes.resize(site.fabric.leaves().size());
    for (const auto index : result.gpu_nodes) {
        if (site.leaf_of[index] == Site::no_leaf) {
            result.off_fabric = true;
        } else {
            ++result.leaf_sizes[site.leaf_of[index]];
        }
    }
    result.smallest_leaf = smallest(result.leaf_sizes);
    result.spans = span_tables(site, result.leaf_sizes);
    result.used_leaves = static_cast<std::uint32_t>(
        std::ranges::count_if(result.leaf_sizes, [](auto size) { return size > 0; }));
    return result;
}

/// Which network each leaf is in: two roots of a tree have no path between them.
void map_networks(Site& site) {
    const auto leaves = site.fabric.leaves();
    site.network_of.assign(leaves.size(), 0);
    site.networks = 1;
    if (site.fabric.kind != fabric::Kind::tree) {
        return;
    }
    const auto roots = site.fabric.roots();
    for (std::uint32_t network = 0; network < roots.size(); ++network) {
        const auto& below = site.fabric.switches[roots[network]].nodes;
        for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
            if (!leaves[leaf].empty() && std::ranges::binary_search(below, leaves[leaf].front())) {
                site.network_of[leaf] = network;
            }
        }
    }
    site.networks = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(roots.size()));
}

void map_leaves(Site& site) {
    site.leaf_of.assign(site.cluster.nodes.size(), Site::no_leaf);
    std::vector<std::string> unknown;
    std::uint32_t leaf = 0;
    for (const auto nodes : site.fabric.leaves()) {
        for (const auto node : nodes) {
            const auto& name = site.fabric.nodes[node];
            if (const auto index = site.cluster.find_node(name)) {
                site.leaf_of[*index] = leaf;
            } else {
                unknown.push_back(name);
            }
        }
        ++leaf;
    }
    if (!unknown.empty()) {
        site.warnings.push_back(
            {Errc::bad_input,
             fmt::format("the topology names {} unknown to slurm.conf, the first is \"{}\"",
                         count_of(unknown.size(), "node"), printable(unknown.front())),
             {}});
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

std::vector<fabric::SpanTable> span_tables(const Site& site,
                                           std::span<const std::uint32_t> sizes) {
    std::vector<std::vector<std::uint32_t>> by_network(site.networks);
    for (std::size_t leaf = 0; leaf < sizes.size(); ++leaf) {
        by_network[site.network_of[leaf]].push_back(sizes[leaf]);
    }
    std::vector<fabric::SpanTable> tables;
    for (const auto& network : by_network) {
        tables.emplace_back(network);
    }
    return tables;
}

std::uint32_t least_leaves(std::span<const fabric::SpanTable> networks, std::uint32_t nodes) {
    std::uint32_t least = 0;
    for (const auto& table : networks) {
        const auto span = table.least(nodes);
        if (span > 0 && (least == 0 || span < least)) {
            least = span;
        }
    }
    return least;
}

Site compile(Policy policy, fabric::Cluster cluster, fabric::Fabric fabric) {
    Site site;
    site.policy = std::move(policy);
    site.cluster = std::move(cluster);
    site.fabric = std::move(fabric);
    site.limits_enforced = enforces_limits(site.cluster.accounting_enforce);
    if (const auto most = fabric::find_parameter(site.cluster.scheduler_parameters, "max_switch_wait")) {
        site.max_switch_wait_s = parse_number<std::uint32_t>(*most).value_or(0);
    }
    map_leaves(site);
    map_networks(site);
    map_features(site);
    warn_of_unknown_partitions(site);
    for (const auto& partition : site.cluster.partitions) {
        site.by_name_.emplace(partition.name, site.partitions.size());
        if (partition.is_default) {
            site.default_ = site.partitions.size();
        }
        site.partitions.push_back(compile_partition(partition, site));
    }
    return site;
}

}  // namespace railhead::policy
