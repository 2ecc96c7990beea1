#include "fabric/placed.hpp"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabric/span.hpp"

namespace railhead::fabric {

namespace {

using Places = std::unordered_map<std::string_view, std::uint32_t>;

void add_fabric(const Fabric& fabric, Placed& placed) {
    placed.kind = fabric.kind;
    const auto leaves = fabric.leaves();
    for (std::uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
        placed.leaves.emplace_back(fabric.leaf_name(leaf));
        for (const auto node : leaves[leaf]) {
            placed.nodes.push_back({fabric.nodes[node], leaf, false});
        }
    }
}

std::uint32_t least_span(const Fabric& fabric, std::uint64_t nodes) {
    std::vector<std::uint32_t> sizes;
    for (const auto& leaf : fabric.leaves()) {
        sizes.push_back(static_cast<std::uint32_t>(leaf.size()));
    }
    return SpanTable{sizes}.least(nodes);
}

/// Under the name that the topology has, else under that of the host alone.
Places::const_iterator find_node(const Places& places, std::string_view name) {
    const auto found = places.find(name);
    return found != places.end() ? found : places.find(name.substr(0, name.find('.')));
}

void count_span(Placed& placed) {
    std::vector<bool> is_touched(placed.leaves.size());
    for (const auto& node : placed.nodes) {
        if (!node.in_job) {
            continue;
        }
        ++placed.job_nodes;
        if (node.leaf == no_leaf) {
            ++placed.off_fabric;
        } else if (!is_touched[node.leaf]) {
            is_touched[node.leaf] = true;
            ++placed.span;
        }
    }
}

}  // namespace

Placed place_nodes(const Fabric* fabric, std::span<const std::string> job) {
    Placed placed;
    if (fabric != nullptr) {
        add_fabric(*fabric, placed);
    }
    Places places;
    placed.nodes.reserve(placed.nodes.size() + job.size());  // the names are looked up in place
    for (std::uint32_t i = 0; i < placed.nodes.size(); ++i) {
        places.emplace(placed.nodes[i].name, i);
    }
    for (const auto& name : job) {
        const auto found = find_node(places, name);
        if (found != places.end()) {
            placed.nodes[found->second].in_job = true;
            continue;
        }
        placed.nodes.push_back({name, no_leaf, true});
        places.emplace(placed.nodes.back().name,
                       static_cast<std::uint32_t>(placed.nodes.size() - 1));
    }
    count_span(placed);
    if (fabric != nullptr && placed.off_fabric == 0) {
        placed.least = least_span(*fabric, placed.job_nodes);
    }
    return placed;
}

}  // namespace railhead::fabric
