// The corpus' nvidia-smi topo -m texts: which NICs each GPU gets, and what is in doubt.
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "node/read_node.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/golden.hpp"
#include "support/node_report.hpp"

using namespace railhead;

TEST_CASE("public topo -m texts are read as we reviewed them", "[golden][topo-m]") {
    RAILHEAD_NEED_CORPUS();
    const auto names = test::list_corpus("topo-m", ".txt");
    REQUIRE(names.size() > 30);
    for (const auto& name : names) {
        CAPTURE(name);
        const auto text =
            test::seen_text(node::parse_node(test::read_corpus("topo-m/" + name), name));
        CHECK(text == test::golden("golden/topo-m/" + name, text));
    }
}

namespace {

/// "0:NIC0 1:NIC1,NIC2": the nearest NICs of each GPU, as they are called in the matrix.
std::string near_text(const node::Node& node, const rails::RailPlan& plan) {
    std::vector<std::string> gpus;
    for (const auto& gpu : node.gpus) {
        std::vector<std::string> names;
        for (const auto nic : plan.gpus[gpu.index].near) {
            names.push_back(node.nics[nic].name);
        }
        gpus.push_back(fmt::format("{}:{}", gpu.index, fmt::join(names, ",")));
    }
    return fmt::format("{}", fmt::join(gpus, " "));
}

}  // namespace

TEST_CASE("near NICs of public topo -m texts are those that the corpus' index expects",
          "[golden][topo-m]") {
    RAILHEAD_NEED_CORPUS();
    // The index' column "expected" in one notation.  Rows that a paste cut off are not guessed:
    // where the index goes on ("G7:NIC7 by elimination", "Gi:NICi" of six rows), we stop.  Other
    // differences:
    //  - a800x8-4nic, nv8-8gpu-gpu0-no-pix-nic: the index leaves GPUs without a PIX NIC open; they
    //    get the nearest rails.
    //  - p100x8-mlx4-old-format: the index tells GPUs 5 to 7 too, of which no row is left.
    const std::map<std::string, std::string> expected{
        {"8gpu-all-sys-10nic-1to1", "0:NIC0 1:NIC1 2:NIC2 3:NIC3 4:NIC4 5:NIC5"},
        {"8gpu-topo-mp-14nic-gap", "0:NIC0 1:NIC1 2:NIC2 3:NIC7"},
        {"a100x2-of-8-slurm-exclusive-10nic", "0:NIC0,NIC1 1:NIC0,NIC1"},
        {"a100x4-2nic-numa-shuffled", "0:mlx5_0,mlx5_1 1:mlx5_0 2:mlx5_1 3:mlx5_0,mlx5_1"},
        {"a100x8-10nic-glued-columns",
         "0:mlx5_0,mlx5_1 1:mlx5_0,mlx5_1 2:mlx5_2,mlx5_3 3:mlx5_2,mlx5_3 4:mlx5_6,mlx5_7 "
         "5:mlx5_6,mlx5_7"},
        {"a100x8-18mlx5-old-names",
         "0:mlx5_4,mlx5_5,mlx5_6,mlx5_7 1:mlx5_4,mlx5_5,mlx5_6,mlx5_7 "
         "2:mlx5_0,mlx5_1,mlx5_2,mlx5_3 3:mlx5_0,mlx5_1,mlx5_2,mlx5_3"},
        {"a100x8-18nic-first-line-unindented",
         "0:NIC5,NIC6,NIC7,NIC8 1:NIC5,NIC6,NIC7,NIC8 2:NIC1,NIC2,NIC3,NIC4 "
         "3:NIC1,NIC2,NIC3,NIC4"},
        {"a800x8-4nic",
         "0:mlx5_0,mlx5_1 1:mlx5_0 2:mlx5_0,mlx5_1 3:mlx5_1 4:mlx5_2,mlx5_3 5:mlx5_2,mlx5_3 "
         "6:mlx5_2,mlx5_3 7:mlx5_2,mlx5_3"},
        {"a800x8-9nic-interleaved", "0:NIC2 1:NIC4 2:NIC6 3:NIC8 4:NIC1 5:NIC3 6:NIC5"},
        {"b200x8-gpu2-lost-nvlink", "0:NIC0 1:NIC1 2:NIC2 3:NIC3 4:NIC4 5:NIC5"},
        {"dgxa100-topo-mp-restricted-cpus",
         "0:mlx5_0,mlx5_1 1:mlx5_0,mlx5_1 2:mlx5_2,mlx5_3 3:mlx5_2,mlx5_3 4:mlx5_6,mlx5_7 "
         "5:mlx5_6,mlx5_7 6:mlx5_8,mlx5_9 7:mlx5_8,mlx5_9"},
        {"h100x8-26nic-18vf", "0:NIC18 1:NIC21 2:NIC20 3:NIC19 4:NIC24 5:NIC23"},
        {"h100x8-6nic-uneven", "0:NIC0 1:NIC0,NIC1 2:NIC1"},
        {"h100x8-8rail-roce-lag", "0:NIC0 1:NIC1 2:NIC2 3:NIC3 4:NIC4 5:NIC5"},
        {"h100x8-snc-4numa-9nic", "0:NIC0 1:NIC1 2:NIC2 3:NIC4 4:NIC5 5:NIC6"},
        {"h100x8-vm-9nic-reversed", "0:NIC8 1:NIC7 2:NIC6 3:NIC5 4:NIC4 5:NIC3 6:NIC2 7:NIC1"},
        {"h20x8-vm-mirrored", "0:NIC7 1:NIC6 2:NIC5 3:NIC4 4:NIC3 5:NIC2"},
        {"nv8-8gpu-gpu0-no-pix-nic",
         "0:NIC2,NIC3,NIC4 1:NIC2 2:NIC3 3:NIC4 4:NIC5 5:NIC6 6:NIC7 7:NIC8"},
        {"p100x8-mlx4-old-format", "0:mlx4_0 1:mlx4_0 2:mlx4_0 3:mlx4_0 4:mlx4_0"},
    };
    for (const auto& [name, near] : expected) {
        CAPTURE(name);
        const auto node = node::parse_node(test::read_corpus("topo-m/" + name + ".txt"), name);
        REQUIRE(node);
        CHECK(near_text(*node, rails::plan_rails(*node)) == near);
    }
}

TEST_CASE("a flat machine's GPUs get a NIC of their socket each, and no two the same",
          "[golden][topo-m]") {
    RAILHEAD_NEED_CORPUS();
    const auto node =
        node::parse_node(test::read_corpus("topo-m/vm-8gpu-8nic-all-pix-flat.txt"), "flat");
    REQUIRE(node);
    const auto plan = rails::plan_rails(*node);
    std::map<std::size_t, int> uses;
    for (std::size_t gpu = 0; gpu < plan.gpus.size(); ++gpu) {
        CAPTURE(gpu);
        REQUIRE(plan.gpus[gpu].nics.size() == 1);
        CHECK(++uses[plan.gpus[gpu].nics[0]] == 1);
        CHECK(node->paths[gpu][plan.gpus[gpu].nics[0]] == node::Path::pix);
    }
}
