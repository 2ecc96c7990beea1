#include "support/clusters.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "policy/parse.hpp"

namespace railhead::test {

void index_nodes(fabric::Cluster& cluster) {
    cluster.by_name.resize(cluster.nodes.size());
    std::iota(cluster.by_name.begin(), cluster.by_name.end(), 0U);
    std::ranges::sort(cluster.by_name, {}, [&](auto i) { return cluster.nodes[i].name; });
}

fabric::Cluster make_cluster(const ClusterShape& shape) {
    fabric::Cluster cluster;
    fabric::Partition main;
    main.name = "main";
    main.is_default = true;
    for (std::uint32_t i = 0; i < shape.nodes; ++i) {
        fabric::NodeFacts node;
        node.name = fmt::format("n{}", i + 1);
        node.sockets = 2;
        node.threads_per_core = shape.threads;
        node.cores_per_socket = shape.cpus / shape.threads / 2;
        node.cpus = shape.cpus;
        node.memory_mb = shape.memory_mb;
        if (shape.gpus > 0) {
            node.gpus["h100"] = shape.gpus;
        }
        cluster.nodes.push_back(std::move(node));
        main.nodes.push_back(i);
    }
    cluster.partitions.push_back(std::move(main));
    cluster.topology_plugin =
        shape.kind == fabric::Kind::block ? "topology/block" : "topology/tree";
    index_nodes(cluster);
    return cluster;
}

fabric::Fabric make_fabric(const ClusterShape& shape) {
    if (shape.leaves == 0) {
        return {};
    }
    const bool block = shape.kind == fabric::Kind::block;
    std::string text;
    const auto per_leaf = shape.nodes / shape.leaves;
    for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
        text += fmt::format("{}=s{} Nodes=n[{}-{}]\n", block ? "BlockName" : "SwitchName", leaf + 1,
                            leaf * per_leaf + 1, (leaf + 1) * per_leaf);
    }
    if (block) {
        text += "BlockSizes=";
        for (const auto size : shape.block_sizes) {
            text += fmt::format("{}{}", text.back() == '=' ? "" : ",", size);
        }
    } else if (shape.leaves > 1) {
        text += fmt::format("SwitchName=spine Switches=s[1-{}]\n", shape.leaves);
    }
    auto fabric = fabric::parse_topology_conf(text + "\n", "topology.conf");
    if (!fabric) {
        throw std::runtime_error{to_string(fabric.error())};
    }
    return std::move(*fabric);
}

policy::Site make_site(const std::string& toml, const ClusterShape& shape) {
    auto policy = policy::parse_policy(toml, "railhead.toml");
    if (!policy) {
        throw std::runtime_error{to_string(policy.error().front())};
    }
    return policy::compile(std::move(*policy), make_cluster(shape), {make_fabric(shape)});
}

}  // namespace railhead::test
