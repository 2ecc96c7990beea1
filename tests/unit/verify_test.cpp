// The span of an allocation against the minimal one.
#include "policy/verify.hpp"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "job/hostlist.hpp"
#include "policy/parse.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"

using namespace railhead;
using policy::verify_placement;

namespace {

policy::Allocation allocation(const std::string& nodes) {
    policy::Allocation out;
    out.nodes = job::expand_hostlist(nodes).value();
    return out;
}

/// "0:2/1 1:1/1": level, span and least of each level.
std::string levels_of(const policy::Placement& placement) {
    std::string text;
    for (const auto& level : placement.levels) {
        text += fmt::format("{}{}:{}/{}", text.empty() ? "" : " ", level.level, level.span, level.least);
    }
    return text;
}

/// 16 nodes, four a leaf, two leaves a pod; n1 to n16, of which n13 to n16 have a feature.
policy::Site pods() {
    auto cluster = test::make_cluster({.nodes = 16});
    for (std::size_t i = 12; i < 16; ++i) {
        cluster.nodes[i].features = {"big"};
    }
    auto fabric = fabric::parse_topology_conf(
        "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=c Nodes=n[9-12]\n"
        "SwitchName=d Nodes=n[13-16]\nSwitchName=p Switches=a,b\nSwitchName=q Switches=c,d\n"
        "SwitchName=top Switches=p,q\n",
        "topology.conf");
    REQUIRE(fabric);
    std::vector<fabric::Fabric> fabrics;
    fabrics.push_back(std::move(*fabric));
    return policy::compile({}, std::move(cluster), std::move(fabrics));
}

}  // namespace

TEST_CASE("an allocation is minimal when no level is wider than need be", "[verify]") {
    struct Case {
        std::string why, nodes, levels;
        std::optional<bool> minimal;
    };
    const auto c = GENERATE(values<Case>({
        {"one leaf", "n[1-4]", "0:1/1 1:1/1", true},
        {"two leaves for what one holds", "n[1-2,5-6]", "0:2/1 1:1/1", false},
        {"two leaves that are needed, of one pod", "n[1-8]", "0:2/2 1:1/1", true},
        {"two leaves that are needed, of two pods", "n[1-4,9-12]", "0:2/2 1:2/1", false},
        {"all of them", "n[1-16]", "0:4/4 1:2/2", true},
        {"a node", "n7", "0:1/1 1:1/1", true},
        {"a node that the topology does not name", "n1,m1", "0:1/1 1:1/1", std::nullopt},
    }));
    CAPTURE(c.why);
    static const auto site = pods();

    const auto placement = verify_placement(site, allocation(c.nodes));

    REQUIRE(placement);
    CHECK(levels_of(*placement) == c.levels);
    CHECK(placement->is_minimal() == c.minimal);
}

TEST_CASE("the leaves are told with their nodes", "[verify]") {
    const auto placement = verify_placement(pods(), allocation("n9,n[1-3],m7"));
    REQUIRE(placement);
    REQUIRE(placement->leaves.size() == 2);
    CHECK(placement->leaves[0].name == "a");
    CHECK(placement->leaves[0].nodes == std::vector<std::string>{"n1", "n2", "n3"});
    CHECK(placement->leaves[1].name == "c");
    CHECK(placement->leaves[1].nodes == std::vector<std::string>{"n9"});
    CHECK(placement->off_fabric == std::vector<std::string>{"m7"});
}

TEST_CASE("only nodes that could have been taken count", "[verify]") {
    const auto site = pods();
    auto wide = allocation("n[1-2,5-6]");
    CHECK(verify_placement(site, wide)->is_minimal() == false);

    SECTION("not those that were excluded") {
        wide.excluded = job::expand_hostlist("n[3-4,7-16]").value();
        CHECK(verify_placement(site, wide)->is_minimal() == true);
    }
    SECTION("not those without the feature") {
        wide.nodes = {"n1", "n13"};
        wide.features = {"big"};  // n1 has it not, and was taken all the same
        CHECK(levels_of(*verify_placement(site, wide)) == "0:2/1 1:2/1");
        wide.excluded = {"n14", "n15", "n16"};
        CHECK(levels_of(*verify_placement(site, wide)) == "0:2/2 1:2/2");
    }
}

TEST_CASE("blocks are verified like leaves", "[verify]") {
    const auto site =
        test::make_site("", {.nodes = 8, .leaves = 2, .kind = fabric::Kind::block, .block_sizes = {4}});
    CHECK(verify_placement(site, allocation("n[1-4]"))->is_minimal() == true);
    CHECK(verify_placement(site, allocation("n[3-6]"))->is_minimal() == false);
}

TEST_CASE("without a fabric nothing can be told", "[verify]") {
    const auto site = test::make_site("", {.nodes = 8, .leaves = 0});
    const auto placement = verify_placement(site, allocation("n[1-4]"));
    REQUIRE(placement);
    CHECK(placement->kind == fabric::Kind::none);
    CHECK(placement->is_minimal() == std::nullopt);
}

TEST_CASE("a partition that is not there is an error", "[verify][errors]") {
    auto wanted = allocation("n1");
    wanted.partition = "nowhere";
    const auto placement = verify_placement(pods(), wanted);
    REQUIRE_FALSE(placement);
    CHECK(placement.error().message == "slurm.conf has no partition \"nowhere\"");
}
