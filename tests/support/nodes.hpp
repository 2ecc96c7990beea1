// Nodes for tests: the recorded ones in tests/data/nodes, and small ones made by hand.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "node/probe.hpp"
#include "support/paths.hpp"

namespace railhead::test {

inline std::string node_file(const std::string& name) {
    return data_file("nodes/" + name);
}

/// tests/data/nodes/<name>, as the plugin would see it.
inline node::Node recorded_node(const std::string& name) {
    auto node = node::probe({.file = node_file(name), .root = "/nonexistent"});
    if (!node) {
        throw std::runtime_error{to_string(node.error())};
    }
    return std::move(*node);
}

inline CpuSet cpus(const std::string& list) {
    return parse_cpu_list(list).value();
}

/// A node with these paths, one row a GPU: NVIDIA GPUs gpu0…, active 400 Gb/s InfiniBand NICs
/// mlx5_0…, no NUMA node; change what a test is about.
inline node::Node node_with(const std::vector<std::vector<node::Path>>& paths) {
    node::Node node;
    node.source = "by hand";
    node.paths = paths;
    for (unsigned i = 0; i < paths.size(); ++i) {
        auto& gpu = node.gpus.emplace_back();
        gpu.index = i;
        gpu.pci = node::PciAddress{0, static_cast<std::uint8_t>(i + 1), 0, 0};
        gpu.vendor = "nvidia";
        gpu.model = "10de:2330";
    }
    for (unsigned i = 0; !paths.empty() && i < paths[0].size(); ++i) {
        auto& nic = node.nics.emplace_back();
        nic.name = fmt::format("mlx5_{}", i);
        nic.pci = node::PciAddress{0, static_cast<std::uint8_t>(i + 101), 0, 0};
        nic.kind = "15b3:1021";
        nic.gbit_per_s = 400;
        nic.link_layer = node::LinkLayer::infiniband;
    }
    return node;
}

/// Gives the node `count` cores of these many threads, numbered as Linux does (siblings last), and
/// each GPU the local CPUs of `near`.
inline void add_cores(node::Node& node, unsigned count, unsigned threads,
                      const std::vector<std::string>& near) {
    for (unsigned core = 0; core < count; ++core) {
        auto& set = node.cores.emplace_back();
        for (unsigned thread = 0; thread < threads; ++thread) {
            set.add(core + thread * count);
            node.allowed.add(core + thread * count);
        }
    }
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
        node.gpus[gpu].cpus = cpus(near.at(gpu));
    }
}

}  // namespace railhead::test
