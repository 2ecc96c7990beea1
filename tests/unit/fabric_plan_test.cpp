// Planned fabrics: the published designs, what cannot be built, and how they are told.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "fabric/plan.hpp"
#include "report/fabric_plan.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"

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

TEST_CASE("a plan is told within 80 columns, as JSON and as a picture", "[fabric-plan][report]") {
    const auto design =
        GENERATE(Design::rail_optimized, Design::spine_leaf, Design::rail_only, Design::nvl72);
    for (const std::uint32_t nodes : {8U, 127U, 2048U}) {
        auto question = of_nodes(nodes, design);
        question.radix = 144;
        question.oversubscription = 1.3;
        question.core_oversubscription = planned(question).tiers == 3 ? 3 : 1;
        const auto plan = planned(question);
        CAPTURE(to_string(design), nodes);

        const auto text = report::fabric_plan_text(plan);
        for (const auto line : split(text, '\n')) {
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

TEST_CASE("what comes out otherwise than one would think is told", "[fabric-plan][report]") {
    CHECK_THAT(report::fabric_plan_text(planned(of_nodes(8))),
               ContainsSubstring("One switch has the ports for all 64 NICs"));
    CHECK_THAT(report::fabric_plan_text(planned(of_nodes(9))), !ContainsSubstring("One switch"));
    auto question = of_nodes(63);
    question.oversubscription = 1000;
    const auto text = report::fabric_plan_text(planned(question));
    CHECK_THAT(text, ContainsSubstring("63:1 at the leaves (1000:1 was asked for"));
}

TEST_CASE("what was taken where nothing was said is told with its source",
          "[fabric-plan][report]") {
    const auto text = report::fabric_plan_text(planned(of_nodes(127)));
    CHECK_THAT(text, ContainsSubstring(
                         "--radix             64 ports  Quantum-2 QM9700, 64 of 400 Gb/s\n"));
    CHECK_THAT(text,
               ContainsSubstring("--oversubscription  1:1       NVIDIA's DGX SuperPOD designs\n"));

    PlanQuestion said;
    said.gpus = 1001;
    said.gpus_per_node = 8;
    said.nics_per_node = 8;
    said.nic_gbps = said.uplink_gbps = 400;
    said.radix = 64;
    said.oversubscription = 1;
    const auto all_said = report::fabric_plan_text(planned(said));
    CHECK_THAT(all_said, !ContainsSubstring("nothing was said"));
    CHECK_THAT(all_said, ContainsSubstring("1,001 GPUs, rounded up to whole nodes"));
}
