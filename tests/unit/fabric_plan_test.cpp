// Planned fabrics: the published designs, what cannot be built, and the files that are written.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/levels.hpp"
#include "fabric/plan.hpp"
#include "fabric/plan_files.hpp"
#include "fabric/topology_yaml.hpp"
#include "policy/parse.hpp"
#include "report/fabric_plan.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/warnings.hpp"

using namespace railhead;
using namespace railhead::fabric;
using Catch::Matchers::WithinRel;

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

struct Row {
    std::string source;
    std::uint32_t radix, nodes, units, leaves, spines, cores;
    std::uint64_t node_leaf, leaf_spine, spine_core;
};

}  // namespace

TEST_CASE("published designs come out switch by switch and cable by cable", "[fabric-plan]") {
    // NVIDIA, DGX SuperPOD reference architectures, table of component counts: DGX H100 (a place of
    // each is UFM's, so 127 of 128 nodes; its 4 links, printed with the nodes', are taken off), DGX
    // B200, and DGX B300 with XDR switches of 144 ports.
    const auto row = GENERATE(values<Row>({
        {"H100, 1 SU", 64, 31, 1, 8, 4, 0, 248, 256, 0},
        {"H100, 2 SU", 64, 63, 2, 16, 8, 0, 504, 512, 0},
        {"H100, 3 SU", 64, 95, 3, 24, 16, 0, 760, 768, 0},
        {"H100, 4 SU", 64, 127, 4, 32, 16, 0, 1016, 1024, 0},
        {"B200, 2 SU", 64, 64, 2, 16, 8, 0, 512, 512, 0},
        {"B200, 4 SU", 64, 128, 4, 32, 16, 0, 1024, 1024, 0},
        {"B200, 8 SU", 64, 256, 8, 64, 32, 0, 2048, 2048, 0},
        {"B200, 16 SU", 64, 512, 16, 128, 128, 64, 4096, 4096, 4096},
        {"B200, 32 SU", 64, 1024, 32, 256, 256, 128, 8192, 8192, 8192},
        {"B200, 64 SU", 64, 2048, 64, 512, 512, 256, 16384, 16384, 16384},
        {"B300, 1 SU", 144, 72, 1, 8, 4, 0, 576, 576, 0},
        {"B300, 2 SU", 144, 144, 2, 16, 8, 0, 1152, 1152, 0},
        {"B300, 4 SU", 144, 288, 4, 32, 18, 0, 2304, 2304, 0},
        {"B300, 8 SU", 144, 576, 8, 64, 36, 0, 4608, 4608, 0},
        {"B300, 18 SU", 144, 1296, 18, 144, 72, 0, 10368, 10368, 0},
    }));
    CAPTURE(row.source);
    auto question = of_nodes(row.nodes);
    question.radix = row.radix;

    const auto plan = planned(question);

    CHECK(plan.units == row.units);
    CHECK(plan.leaves == row.leaves);
    CHECK(plan.spines == row.spines);
    CHECK(plan.cores == row.cores);
    CHECK(plan.node_links == row.node_leaf);
    CHECK(plan.leaf_spine_links == row.leaf_spine);
    CHECK(plan.spine_core_links == row.spine_core);
    CHECK(plan.leaf_up == row.radix / 2);
    CHECK_THAT(plan.bisection_share(), WithinRel(1.0, 1e-9));
}

TEST_CASE("no switch has more cables than ports", "[fabric-plan]") {
    const auto design =
        GENERATE(Design::rail_optimized, Design::spine_leaf, Design::rail_only, Design::nvl72);
    std::size_t compared = 0;
    for (const std::uint32_t nodes : {1U, 7U, 31U, 64U, 65U, 127U, 300U, 1000U, 5000U}) {
        for (const std::uint32_t radix : {40U, 64U, 128U, 144U}) {
            for (const double oversubscription : {1.0, 1.5, 2.0, 7.0}) {
                auto question = of_nodes(nodes, design);
                question.radix = radix;
                question.oversubscription = oversubscription;
                const auto plan = make_plan(question);
                if (!plan) {
                    continue;  // told apart below
                }
                CAPTURE(to_string(design), nodes, radix, oversubscription);
                ++compared;
                const auto leaves = plan->leaves / plan->networks;
                const auto spines = plan->spines / plan->networks;
                REQUIRE(plan->leaf_down + plan->leaf_up <= radix);
                REQUIRE(std::uint64_t{plan->units} * plan->unit_nodes >= nodes);
                REQUIRE(plan->nodes_by_switches >= nodes);
                REQUIRE(plan->nodes_by_tiers >= plan->nodes_by_switches);
                if (plan->tiers == 2) {
                    REQUIRE(spines * plan->leaf_spine_pair == plan->leaf_up);
                    REQUIRE(leaves * plan->leaf_spine_pair <= radix);
                } else if (plan->tiers == 3) {
                    const auto pod_leaves = plan->pod_units * plan->unit_leaves / plan->networks;
                    REQUIRE(pod_leaves <= plan->spine_down);
                    REQUIRE(plan->spine_down + plan->spine_up <= radix);
                    REQUIRE(plan->pods * plan->spine_core_pair <= radix);
                    REQUIRE(std::uint64_t{plan->cores} * radix - plan->free_core_ports ==
                            plan->spine_core_links);
                }
                REQUIRE(plan->bisection_share() <= 1 + 1e-9);
                REQUIRE(plan->leaf_oversubscription <= oversubscription + 1e-9);
            }
        }
    }
    CHECK(compared >= 100);
}

TEST_CASE("each design has its own arithmetic", "[fabric-plan]") {
    SECTION("rail-only: one switch a rail holds as many nodes as it has ports") {
        const auto plan = planned(of_nodes(64, Design::rail_only));
        CHECK(plan.tiers == 1);
        CHECK(plan.leaves == 8);
        CHECK(plan.spines == 0);
        CHECK(plan.node_links == 512);
    }
    SECTION("rail-only: beyond, each rail is a fat tree of its own") {
        const auto plan = planned(of_nodes(128, Design::rail_only));
        CHECK(plan.networks == 8);
        CHECK(plan.leaves == 8 * 4);
        CHECK(plan.spines == 8 * 2);  // 4 x 32 uplinks on 64 ports
        CHECK(plan.nodes_by_tiers == 64 * 32);
    }
    SECTION("spine-leaf: 4 nodes of 8 NICs a leaf, as many switches as rail-optimized") {
        const auto plan = planned(of_nodes(128, Design::spine_leaf));
        CHECK(plan.unit_nodes == 4);
        CHECK(plan.leaves == 32);
        CHECK(plan.spines == 16);
    }
    SECTION("spine-leaf at 2:1 in a radix of 64: 40 down, 20 up, half of the NICs at once") {
        auto question = of_nodes(120, Design::spine_leaf);
        question.oversubscription = 2;
        const auto plan = planned(question);
        CHECK(plan.leaf_down == 40);
        CHECK(plan.leaf_up == 20);
        CHECK(plan.leaf_spine_links == 24 * 20);
        CHECK_THAT(plan.bisection_share(), WithinRel(0.5, 1e-9));
    }
    SECTION("uplinks of twice the speed are half as many") {
        auto question = of_nodes(128);
        question.uplink_gbps = 800;
        const auto plan = planned(question);
        CHECK(plan.leaf_up == 16);
        CHECK(plan.spine_radix == 32);
        CHECK(plan.spines == 16);  // 32 leaves x 16 on 32 ports
        CHECK_THAT(plan.leaf_oversubscription, WithinRel(1.0, 1e-9));
    }
    SECTION("nvl72: switches of 144 ports take four NVLink domains") {
        auto question = of_nodes(0, Design::nvl72);
        question.nodes.reset();
        question.gpus = 576;
        question.radix = 144;
        question.nic_gbps = 800;
        const auto plan = planned(question);
        CHECK(plan.nodes == 8 * 18);
        CHECK(plan.unit_nodes == 4 * 18);
        CHECK(plan.leaves == 2 * 4);
        CHECK(plan.spines == 4);
    }
    SECTION("7:1 above pods of full bisection, as Llama 3's clusters (arXiv 2407.21783)") {
        auto question = of_nodes(3000);
        question.core_oversubscription = 7;
        const auto plan = planned(question);
        CHECK_THAT(plan.leaf_oversubscription, WithinRel(1.0, 1e-9));
        CHECK_THAT(plan.core_oversubscription, WithinRel(7.0, 1e-9));
        CHECK(plan.spine_down == 56);
        CHECK(plan.spine_up == 8);
        CHECK(plan.pod_units == 7);
    }
    SECTION("GPUs are rounded up to whole nodes") {
        PlanQuestion question;
        question.gpus = 1001;
        CHECK(planned(question).nodes == 126);
    }
}

TEST_CASE("what cannot be built is told, with what can", "[fabric-plan][errors]") {
    struct Case {
        std::string why;
        PlanQuestion question;
        std::string expected;
    };
    const auto with = [](std::uint32_t nodes, auto change) {
        auto question = of_nodes(nodes);
        change(question);
        return question;
    };
    const std::vector<Case> cases{
        {"neither", {}, "either --gpus or --nodes"},
        {"an odd radix", with(64, [](auto& q) { q.radix = 63; }), "--radix 62 fits"},
        {"too many nodes", with(10000, [](auto&) {}),
         "3 tiers of 64 ports hold at most 8192 nodes (65536 GPUs), not 10000"},
        {"too many for the tiers", with(512, [](auto& q) { q.tiers = 2; }),
         "2 tiers of 64 ports hold at most 256 nodes (2048 GPUs), not 512; --tiers 3 holds them"},
        {"one tier of several leaves", with(64, [](auto& q) { q.tiers = 1; }), "use --tiers 2"},
        {"a unit too large for a leaf", with(64, [](auto& q) { q.unit_nodes = 40; }),
         "the largest unit is 32 nodes"},
        {"a leaf too small for a node",
         with(64,
              [](auto& q) {
                  q.design = Design::spine_leaf;
                  q.radix = 12;
              }),
         "no room for the 8 ports of a node"},
        {"part of an NVLink domain",
         with(72,
              [](auto& q) {
                  q.design = Design::nvl72;
                  q.unit_nodes = 20;
              }),
         "a multiple of 18"},
        {"more rails than a spine has ports",
         with(64,
              [](auto& q) {
                  q.nics_per_node = 40;
                  q.radix = 32;
              }),
         "the 40 leaves of a unit are too many"},
        {"speeds that share no port",
         with(64,
              [](auto& q) {
                  q.nic_gbps = 400;
                  q.uplink_gbps = 700;
              }),
         "--spine-radix"},
        {"no oversubscription", with(64, [](auto& q) { q.oversubscription = 0.5; }), "2 is 2:1"},
        {"no speed", with(64, [](auto& q) { q.nic_gbps = -400; }), "more than 0 Gb/s"},
        {"no node", with(0, [](auto&) {}), "1 to 1048576 nodes"},
        {"four tiers", with(64, [](auto& q) { q.tiers = 4; }), "1, 2 or 3 tiers"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.why);

        const auto plan = make_plan(c.question);

        REQUIRE_FALSE(plan);
        CHECK(plan.error().code == Errc::bad_input);
        CHECK_THAT(plan.error().message, ContainsSubstring(c.expected));
    }
}

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

TEST_CASE("a plan is told within 80 columns, as JSON and as a picture", "[fabric-plan][report]") {
    const auto design =
        GENERATE(Design::rail_optimized, Design::spine_leaf, Design::rail_only, Design::nvl72);
    for (const std::uint32_t nodes : {8U, 127U, 2048U}) {
        auto question = of_nodes(nodes, design);
        question.radix = 144;
        question.core_oversubscription = 3;
        question.oversubscription = 1.3;
        const auto plan = planned(question);
        CAPTURE(to_string(design), nodes);

        for (const auto line : split(report::fabric_plan_text(plan), '\n')) {
            CAPTURE(line);
            CHECK(report::columns(line) <= 80);
        }
        const auto json = nlohmann::json::parse(report::fabric_plan_json(plan));
        CHECK(json["schema"] == "railhead.fabric-plan/1");
        CHECK(json["switches"]["leaf"]["switches"] == plan.leaves);
        CHECK(json["links"]["leaf_spine"] == plan.leaf_spine_links);
        const auto svg = report::fabric_plan_svg(plan);
        CHECK_THAT(svg, ContainsSubstring("prefers-color-scheme:dark"));
    }
}

TEST_CASE("a picture has a box for each unit, at 4 as at 64", "[fabric-plan][report]") {
    const auto boxes = [](std::uint32_t nodes) {
        const auto svg = report::fabric_plan_svg(planned(of_nodes(nodes)));
        std::size_t count = 0;
        for (auto at = svg.find("\"box "); at != std::string::npos;
             at = svg.find("\"box ", at + 1)) {
            ++count;
        }
        return count;
    };
    CHECK(boxes(127) == 4 + 1);         // units, spines
    CHECK(boxes(2048) == 64 + 16 + 1);  // units, pods, cores
    CHECK(boxes(128 * 32) == 32 + 1);   // 128 units are too many to draw: pods, cores
}

TEST_CASE("counts are grouped by thousands", "[fabric-plan][report]") {
    CHECK(report::grouped(0) == "0");
    CHECK(report::grouped(999) == "999");
    CHECK(report::grouped(1016) == "1,016");
    CHECK(report::grouped(16777216) == "16,777,216");
    CHECK(report::grouped_count(1, "node") == "1 node");
    CHECK(report::grouped_count(2048, "node") == "2,048 nodes");
}
