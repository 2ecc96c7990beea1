// Reading what a large cluster's administrator wrote: 10,240 nodes, 512 leaves.
// Budget: under 50 ms for slurm.conf, gres.conf, a topology and all that is compiled of them.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/span.hpp"
#include "fabric/topology_yaml.hpp"
#include "job/gpu_request.hpp"
#include "job/script.hpp"
#include "policy/parse.hpp"
#include "policy/site.hpp"

using namespace railhead;

namespace {

constexpr unsigned leaves = 512;
constexpr unsigned nodes_a_leaf = 20;

std::string tree_of_10240_nodes() {
    std::string text;
    for (unsigned i = 0; i < leaves; ++i) {
        text += fmt::format("SwitchName=leaf{:03} Nodes=gpu[{:05}-{:05}]\n", i, i * nodes_a_leaf,
                            (i + 1) * nodes_a_leaf - 1);
    }
    for (unsigned i = 0; i < 16; ++i) {
        text +=
            fmt::format("SwitchName=pod{:02} Switches=leaf[{:03}-{:03}]\n", i, i * 32, i * 32 + 31);
    }
    return text + "SwitchName=root Switches=pod[00-15]\n";
}

/// The same as blocks whose nodes are written one by one, the most tedious way.
std::string blocks_of_10240_nodes() {
    std::string text = "BlockSizes=20,40\n";
    for (unsigned i = 0; i < leaves; ++i) {
        text += fmt::format("BlockName=b{} Nodes=", i);
        for (unsigned n = 0; n < nodes_a_leaf; ++n) {
            text += fmt::format("{}gpu{:05}", n == 0 ? "" : ",", i * nodes_a_leaf + n);
        }
        text += "\n";
    }
    return text;
}

std::string yaml_tree_of_10240_nodes() {
    std::string text = "- topology: hall\n  cluster_default: true\n  tree:\n    switches:\n";
    for (unsigned i = 0; i < leaves; ++i) {
        text += fmt::format("      - switch: leaf{:03}\n        nodes: gpu[{:05}-{:05}]\n", i,
                            i * nodes_a_leaf, (i + 1) * nodes_a_leaf - 1);
    }
    for (unsigned i = 0; i < 16; ++i) {
        text += fmt::format("      - switch: pod{:02}\n        children: leaf[{:03}-{:03}]\n", i,
                            i * 32, i * 32 + 31);
    }
    return text + "      - switch: root\n        children: pod[00-15]\n";
}

void load_topology(benchmark::State& state, const std::string& text) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(fabric::parse_topology_conf(text, "topology.conf"));
    }
}
BENCHMARK_CAPTURE(load_topology, tree, tree_of_10240_nodes())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_topology, block, blocks_of_10240_nodes())->Unit(benchmark::kMillisecond);

void load_yaml(benchmark::State& state) {
    const auto text = yaml_tree_of_10240_nodes();
    for (auto _ : state) {
        benchmark::DoNotOptimize(fabric::parse_topology_yaml(text, "topology.yaml"));
    }
}
BENCHMARK(load_yaml)->Unit(benchmark::kMillisecond);

Result<fabric::Cluster> read_cluster() {
    const std::string conf =
        "NodeName=DEFAULT CPUs=128 Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 "
        "RealMemory=2000000\n"
        "NodeName=gpu[00000-10239] Gres=gpu:8 Feature=h100,ib\n"
        "PartitionName=all Nodes=ALL\nPartitionName=train Nodes=gpu[00000-08191] Default=YES\n";
    const fabric::ReadFile read = [&](const std::string& path) -> Result<std::string> {
        return path == "/slurm.conf" ? conf : "Name=gpu Type=h100 File=/dev/nvidia[0-7]\n";
    };
    return fabric::read_cluster("/slurm.conf", read);
}

void load_cluster(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_cluster());
    }
}
BENCHMARK(load_cluster)->Unit(benchmark::kMillisecond);

/// Everything that a change of a file costs slurmctld, but for the disk.
void load_site(benchmark::State& state, const std::string& topology, bool yaml) {
    for (auto _ : state) {
        auto fabrics = yaml ? *fabric::parse_topology_yaml(topology, "topology.yaml")
                            : std::vector{*fabric::parse_topology_conf(topology, "topology.conf")};
        benchmark::DoNotOptimize(policy::compile(*policy::parse_policy("", "railhead.toml"),
                                                 *read_cluster(), std::move(fabrics)));
    }
}
BENCHMARK_CAPTURE(load_site, conf, tree_of_10240_nodes(), false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_site, blocks, blocks_of_10240_nodes(), false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(load_site, yaml, yaml_tree_of_10240_nodes(), true)->Unit(benchmark::kMillisecond);

void minimal_span(benchmark::State& state) {
    std::vector<std::uint32_t> sizes(leaves, nodes_a_leaf);
    sizes[100] = 12;
    const auto nodes = static_cast<std::uint32_t>(state.range(0));
    for (auto _ : state) {
        benchmark::DoNotOptimize(fabric::minimal_span(sizes, nodes));
    }
}
BENCHMARK(minimal_span)->Arg(16)->Arg(256)->Arg(8192);

void span_table(benchmark::State& state) {
    const fabric::SpanTable table{std::vector<std::uint32_t>(leaves, nodes_a_leaf)};
    for (auto _ : state) {
        benchmark::DoNotOptimize(table.least(static_cast<std::uint64_t>(state.range(0))));
    }
}
BENCHMARK(span_table)->Arg(8192);

void parse_gpus(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(job::parse_gpus("gres/gpu:h100:8,gres/nic:2"));
    }
}
BENCHMARK(parse_gpus);

void parse_script(benchmark::State& state) {
    const std::string text =
        "#!/bin/bash\n#SBATCH --job-name=train -N 16 --exclusive\n#SBATCH --gres=gpu:8\n"
        "#SBATCH --ntasks-per-node=8 --time=12:00:00 --mem=0\n\nsrun train\n";
    for (auto _ : state) {
        benchmark::DoNotOptimize(job::parse_script(text, "job"));
    }
}
BENCHMARK(parse_script);

}  // namespace
