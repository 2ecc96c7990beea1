// The files of a planned fabric: our own readers, and the Slurm that they are for.
#include "fabric/plan_files.hpp"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/plan.hpp"
#include "fabric/topology_yaml.hpp"
#include "policy/parse.hpp"
#include "support/catch.hpp"
#include "support/warnings.hpp"

using namespace railhead;
using namespace railhead::fabric;

namespace {

PlanQuestion of_nodes(std::uint32_t nodes, Design design = Design::rail_optimized) {
    PlanQuestion question;
    question.nodes = nodes;
    question.design = design;
    return question;
}

Plan planned(const PlanQuestion& question) {
    auto plan = make_plan(question);
    CAPTURE(plan ? "" : plan.error().message);
    REQUIRE(plan);
    return *plan;
}

std::string file_of(const Plan& plan, const PlanSite& site, const std::string& name) {
    const auto files = plan_files(plan, site);
    CAPTURE(files ? "" : files.error().message);
    REQUIRE(files);
    for (const auto& file : *files) {
        if (file.name == name) {
            return file.text;
        }
    }
    FAIL("no " + name);
    return {};
}

/// "su1:32 su2:31 spine:63": each switch or block with its nodes.
std::string shape_of(const Fabric& fabric) {
    std::string text;
    for (const auto& s : fabric.switches) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ", s.name, s.nodes.size());
    }
    for (const auto& block : fabric.blocks) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ", block.name, block.nodes.size());
    }
    return text;
}

}  // namespace

TEST_CASE("our own readers take the written topology for the planned fabric",
          "[fabric-plan][files]") {
    struct Case {
        std::string why;
        std::uint32_t nodes;
        Design design;
        Kind kind;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a switch a unit, and the spine", 127, Design::rail_optimized, Kind::tree,
         "su1:32 su2:32 su3:32 su4:31 spine:127"},
        {"one unit needs no spine", 20, Design::rail_optimized, Kind::tree, "su1:20"},
        {"leaves", 10, Design::spine_leaf, Kind::tree, "leaf1:4 leaf2:4 leaf3:2 spine:10"},
        {"domains below units that hold one each", 40, Design::nvl72, Kind::tree,
         "nvl1:18 nvl2:18 nvl3:4 spine:40"},
        {"pods", 300, Design::rail_optimized, Kind::tree,
         "su01:32 su02:32 su03:32 su04:32 su05:32 su06:32 su07:32 su08:32 su09:32 su10:12 "
         "pod1:128 pod2:128 pod3:44 core:300"},
        {"blocks of units", 70, Design::rail_optimized, Kind::block,
         "block1:32 block2:32 block3:6"},
        {"blocks of NVLink domains", 72, Design::nvl72, Kind::block,
         "block1:18 block2:18 block3:18 block4:18"},
        {"one block that is not full", 12, Design::nvl72, Kind::block, "block1:12"},
    }));
    CAPTURE(c.why);
    const auto plan = planned(of_nodes(c.nodes, c.design));
    std::vector<Error> warnings;

    PlanSite site;
    site.kind = c.kind;
    const auto conf =
        parse_topology_conf(file_of(plan, site, "topology.conf"), "topology.conf", &warnings);
    site.yaml = true;
    const auto yaml =
        parse_topology_yaml(file_of(plan, site, "topology.yaml"), "topology.yaml", &warnings);

    REQUIRE(conf);
    CHECK(conf->kind == c.kind);
    CHECK(conf->nodes.size() == c.nodes);
    CHECK(shape_of(*conf) == c.expected);
    REQUIRE(yaml);
    REQUIRE(yaml->size() == 1);
    CHECK(yaml->front().kind == c.kind);
    CHECK(yaml->front().nodes.size() == c.nodes);
    CHECK(yaml->front().leaves().size() == conf->leaves().size());
    CHECK(yaml->front().block_sizes == conf->block_sizes);
    CHECK(test::messages(warnings).empty());
}

TEST_CASE("block sizes are doublings of the block, up to one that holds all",
          "[fabric-plan][files]") {
    const auto plan = planned(of_nodes(5 * 18, Design::nvl72));
    CHECK_THAT(file_of(plan, {}, "topology.conf"), ContainsSubstring("BlockSizes=18,36,72,144\n"));
}

TEST_CASE("slurm.conf with the written lines has the nodes and their GPUs",
          "[fabric-plan][files]") {
    PlanSite site;
    site.node_prefix = "dgx-";
    site.gpu_type = "h100";
    site.sockets = 2;
    site.cores_per_socket = 56;
    site.threads_per_core = 2;
    site.memory_mb = 2'000'000;
    const auto plan = planned(of_nodes(127));
    const auto read = [&](const std::string& path) -> Result<std::string> {
        const auto name = path.substr(path.rfind('/') + 1);
        if (name == "slurm.conf") {
            return "ClusterName=c\nInclude nodes.conf\n";
        }
        if (name == "nodes.conf" || name == "gres.conf") {
            return file_of(plan, site, name);
        }
        return fail(Errc::not_found, "no such file");
    };

    const auto cluster = read_cluster("/etc/slurm/slurm.conf", read);

    REQUIRE(cluster);
    CHECK(test::messages(cluster->warnings).empty());
    REQUIRE(cluster->nodes.size() == 127);
    CHECK(cluster->nodes.front().name == "dgx-001");
    CHECK(cluster->nodes.back().name == "dgx-127");
    CHECK(cluster->nodes.back().gpus == std::map<std::string, std::uint32_t>{{"h100", 8}});
    CHECK(cluster->nodes.back().cpus == 224);
    CHECK(cluster->nodes.back().memory_mb == 2'000'000);
    CHECK(cluster->topology_plugin == "topology/tree");
    REQUIRE(cluster->default_partition() != nullptr);
    CHECK(cluster->default_partition()->nodes.size() == 127);
}

TEST_CASE("the written policy is one, and prices what the uplinks cost", "[fabric-plan][files]") {
    struct Case {
        std::string why;
        double oversubscription;
        Design design;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"1:1 costs nothing by bandwidth", 1, Design::rail_optimized, "a wider span costs nothing"},
        {"2:1", 2, Design::rail_optimized, "oversubscription = [2.00]\n"},
        {"rails without a way between them", 1, Design::rail_only, "rail_only = true\n"},
        {"NVLink domains are to be measured", 1, Design::nvl72, "slowdown or bus_bandwidth"},
    }));
    CAPTURE(c.why);
    auto question = of_nodes(126, c.design);
    question.oversubscription = c.oversubscription;
    const auto text = file_of(planned(question), {}, "railhead.toml");

    const auto policy = policy::parse_policy(text, "railhead.toml");

    REQUIRE(policy);
    CHECK_THAT(text, ContainsSubstring(c.expected));
}

TEST_CASE("a Slurm that cannot read the topology is told, with what it can",
          "[fabric-plan][errors]") {
    struct Case {
        std::string why;
        std::uint32_t nodes, slurm;
        Kind kind;
        bool yaml;
        std::string expected;  ///< empty: it can
    };
    const auto c = GENERATE(values<Case>({
        {"a tree is for every Slurm", 127, 0x160508, Kind::tree, false, ""},
        {"22.05 has no blocks", 128, 0x160508, Kind::block, false,
         "Slurm 22.05 has no topology/block with BlockSizes, which came with 24.05"},
        {"nor 23.11 BlockSizes", 128, 0x170b00, Kind::block, false,
         "Slurm 23.11 has no topology/block"},
        {"24.11 has, where they are equal", 128, 0x180b05, Kind::block, false, ""},
        {"but no smaller last one", 127, 0x180b05, Kind::block, false,
         "the last one has 31 of 32 nodes; plan 128 nodes, or write --topology tree"},
        {"25.05 takes it", 127, 0x190500, Kind::block, false, ""},
        {"24.11 has no topology.yaml", 128, 0x180b05, Kind::tree, true,
         "Slurm 24.11 does not read topology.yaml, which came with 25.05"},
        {"26.05 reads it", 128, 0x1a0505, Kind::tree, true, ""},
    }));
    CAPTURE(c.why);
    PlanSite site;
    site.slurm = c.slurm;
    site.kind = c.kind;
    site.yaml = c.yaml;

    const auto files = plan_files(planned(of_nodes(c.nodes)), site);

    REQUIRE(files.has_value() == c.expected.empty());
    if (!files) {
        CHECK(files.error().code == Errc::unsupported);
        CHECK_THAT(files.error().message, ContainsSubstring(c.expected));
    }
}

TEST_CASE("a name that a file would take for something else is refused", "[fabric-plan][errors]") {
    const auto plan = planned(of_nodes(8));
    const auto refusal = [&](auto change) {
        PlanSite site;
        change(site);
        const auto files = plan_files(plan, site);
        REQUIRE_FALSE(files);
        return files.error().message;
    };
    CHECK_THAT(refusal([](auto& s) { s.node_prefix = "gpu1"; }),
               ContainsSubstring("a number follows it"));
    CHECK_THAT(refusal([](auto& s) { s.node_prefix = "a\nb"; }),
               ContainsSubstring("\"a?b\" is no name"));
    CHECK_THAT(refusal([](auto& s) { s.partition = "DEFAULT"; }),
               ContainsSubstring("name of a partition"));
    CHECK_THAT(refusal([](auto& s) { s.gpu_type = "h100 Count=9"; }),
               ContainsSubstring("type of GPU"));
}
