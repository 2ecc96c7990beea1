// What `railhead check` says of the fabrics.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "policy/check.hpp"
#include "policy/parse.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"

namespace {

using namespace railhead;
using policy::Level;

constexpr std::uint32_t slurm_22_05 = 0x160508;
constexpr std::uint32_t slurm_24_11 = 0x180b05;
constexpr std::uint32_t slurm_25_11 = 0x190b00;
constexpr std::uint32_t slurm_26_05 = 0x1a0505;

/// Eight nodes n1 to n8 with GPUs, below the fabric of this text; what is said as lines
/// "level subject: text".
std::string said(const std::string& topology, std::optional<std::uint32_t> slurm,
                 const std::string& path = "topology.conf", const std::string& parameters = "",
                 const std::string& name = "") {
    auto fabric = fabric::parse_topology_conf(topology, path).value();
    fabric.name = name;
    auto cluster = test::make_cluster({});
    cluster.topology_param = parameters;
    cluster.topology_plugin = fmt::format("topology/{}", fabric::to_string(fabric.kind));
    const auto site = policy::compile(*policy::parse_policy("", "p"), cluster, {fabric});
    std::string text;
    for (const auto& finding : policy::check_fabrics(site, path, slurm)) {
        constexpr std::string_view levels[] = {"fine", "advice", "warning", "error"};
        text += fmt::format("{} {}: {}\n", levels[static_cast<std::size_t>(finding.level)],
                            finding.subject, finding.text);
    }
    return text;
}

const std::string even =
    "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\n"
    "SwitchName=top Switches=a,b\n";
/// As a rack's columns are numbered: neighbours by name are on other leaves.
const std::string striped =
    "SwitchName=a Nodes=n[1,3,5,7]\nSwitchName=b Nodes=n[2,4,6,8]\n"
    "SwitchName=top Switches=a,b\n";
const std::string striped_blocks = "BlockName=a Nodes=n[1,3,5,7]\nBlockName=b Nodes=n[2,4,6,8]\n";

}  // namespace

TEST_CASE("check tells leaves, sizes, levels and networks of a fabric", "[check]") {
    struct Case {
        std::string why, topology, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"even leaves", even,
         "topology.conf: 2 leaf switches of 4 nodes below 1 level of switches, 8 nodes\n"},
        {"uneven leaves and two networks", "SwitchName=a Nodes=n[1-6]\nSwitchName=b Nodes=n[7-8]\n",
         "topology.conf: 2 leaf switches of 2 to 6 nodes in 2 networks, 8 nodes\n"},
        {"deeper",
         "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=p Switches=a,b\n"
         "SwitchName=t Switches=p\n",
         "2 leaf switches of 4 nodes below 2 levels of switches, 8 nodes\n"},
        {"blocks", "BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[5-8]\nBlockSizes=4\n",
         "topology.conf: 2 blocks of 4 nodes, 8 nodes\n"},
    }));
    CAPTURE(c.why);

    CHECK_THAT(said(c.topology, std::nullopt), ContainsSubstring(c.expected));
}

TEST_CASE("check names the topology of a file with several", "[check]") {
    const auto text = said(even, slurm_26_05, "topology.yaml", "", "hall");

    CHECK_THAT(text, ContainsSubstring("fine topology: topology.yaml: \"hall\" 2 leaf switches"));
    CHECK_THAT(text, ContainsSubstring("fine partition main: 8 nodes of 8 GPUs on 2 leaf switches "
                                       "of \"hall\"\n"));
}

TEST_CASE("check names the GPU nodes that a topology leaves out", "[check]") {
    CHECK_THAT(said("SwitchName=a Nodes=n[1-5,8]\n", std::nullopt),
               ContainsSubstring("warning partition main: has 2 nodes with GPUs that the topology "
                                 "does not name: its jobs are placed by Slurm alone: n[6-7]\n"));
}

TEST_CASE("check asks for ranks by switch where names do not follow the leaves", "[check]") {
    struct Case {
        std::string why, topology, parameters;
        std::optional<std::uint32_t> slurm;
        std::string expected;  ///< empty: nothing is said of ranks
    };
    const auto c = GENERATE(values<Case>({
        {"striped names", striped, "", slurm_24_11,
         "those of leaf switch \"a\" are not neighbours: TopologyParam=SwitchAsNodeRank\n"},
        {"other parameters are kept", striped, "TopoOptional", slurm_24_11,
         "TopologyParam=TopoOptional,SwitchAsNodeRank\n"},
        {"it is set", striped, "RouteTree,switchasnoderank", slurm_24_11, ""},
        {"names follow the leaves", even, "", slurm_24_11, ""},
        {"a Slurm that has no such parameter", striped, "", slurm_22_05, ""},
        {"a Slurm that nobody knows", striped, "", std::nullopt, ""},
        {"blocks", striped_blocks, "", slurm_25_11,
         "those of block \"a\" are not neighbours: TopologyParam=BlockAsNodeRank\n"},
        {"a Slurm that has no such parameter for blocks", striped_blocks, "", slurm_24_11, ""},
        {"26.05 does so by itself", striped, "", slurm_26_05, ""},
        {"26.05 does so by itself, blocks too", striped_blocks, "", slurm_26_05, ""},
    }));
    CAPTURE(c.why);

    const auto text = said(c.topology, c.slurm, "topology.conf", c.parameters);

    if (c.expected.empty()) {
        CHECK(text.find("ranks") == std::string::npos);
    } else {
        CHECK_THAT(text, ContainsSubstring("warning ranks: "));
        CHECK_THAT(text, ContainsSubstring(c.expected));
    }
}

TEST_CASE("numbers in names count as numbers: n2 comes before n10", "[check]") {
    std::string topology = "SwitchName=a Nodes=n[1-9]\nSwitchName=b Nodes=n[10-12]\n";
    auto fabric = fabric::parse_topology_conf(topology, "t").value();
    test::ClusterShape shape;
    shape.nodes = 12;
    const auto site =
        policy::compile(*policy::parse_policy("", "p"), test::make_cluster(shape), {fabric});

    for (const auto& finding : policy::check_fabrics(site, "topology.conf", slurm_24_11)) {
        CHECK(finding.subject != "ranks");
    }
}

TEST_CASE("check tells of a Topology= where there is none, and of a plugin too new", "[check]") {
    auto cluster = test::make_cluster({});
    cluster.partitions[0].topology = "tree";
    cluster.topology_plugin = "topology/flat";
    const auto site = policy::compile(*policy::parse_policy("", "p"), cluster, {});
    const auto errors = [&](std::uint32_t slurm) {
        std::string text;
        for (const auto& finding : policy::check_fabrics(site, "", slurm)) {
            text +=
                finding.level == Level::error ? finding.subject + ": " + finding.text + "\n" : "";
        }
        return text;
    };

    const std::string unknown =
        "partition main: Topology=tree, and no topology is known: slurmctld does not start\n";
    CHECK(errors(slurm_26_05) == unknown);
    CHECK(errors(slurm_24_11) ==
          "topology: TopologyPlugin=topology/flat is of Slurm 25.11: write topology/default\n" +
              unknown);
}

TEST_CASE("check tells of a topology.yaml that an older Slurm does not read", "[check]") {
    CHECK_THAT(
        said(even, slurm_24_11, "topology.yaml"),
        ContainsSubstring("error topology: topology.yaml: Slurm before 25.05 does not read it"));
    CHECK(said(even, slurm_26_05, "topology.yaml").find("before 25.05") == std::string::npos);
}

TEST_CASE("check warns of node weights, which Slurm puts above leaves", "[check]") {
    struct Case {
        std::string why;
        std::uint32_t weight, gpus;
        fabric::Kind kind;
        bool warned;
    };
    const auto c = GENERATE(values<Case>({
        {"all as one", 1, 8, fabric::Kind::tree, false},
        {"one is heavier", 10, 8, fabric::Kind::tree, true},
        {"it has no GPU, so no gang wants it", 10, 0, fabric::Kind::tree, false},
        {"blocks", 10, 8, fabric::Kind::block, false},
    }));
    CAPTURE(c.why);
    test::ClusterShape shape;
    shape.kind = c.kind;
    auto cluster = test::make_cluster(shape);
    cluster.nodes[5].weight = c.weight;
    if (c.gpus == 0) {
        cluster.nodes[5].gpus.clear();
    }
    const auto site = policy::compile(*policy::parse_policy("", "p"), std::move(cluster),
                                      {test::make_fabric(shape)});
    const auto findings = policy::check_fabrics(site, "topology.conf", slurm_22_05);
    const auto warns = [](const auto& finding) {
        return finding.level == Level::warning &&
               finding.text.find("differ in Weight (n1 has 1, n6 has 10)") != std::string::npos;
    };
    CHECK(std::ranges::any_of(findings, warns) == c.warned);
}
