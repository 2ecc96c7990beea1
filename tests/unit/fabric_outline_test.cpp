// Existing fabrics: their levels, what is unlike the rest, the tree in which equals are one.
#include "fabric/outline.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "fabric/topology_yaml.hpp"
#include "report/fabric_show.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"

using namespace railhead;
using namespace railhead::fabric;

namespace {

Fabric fabric_of(const std::string& text) {
    auto fabric = parse_topology_conf(text, "topology.conf");
    REQUIRE(fabric);
    return *fabric;
}

Cluster cluster_of(const std::string& nodes) {
    auto cluster = read_cluster("/slurm.conf", [&](const std::string& path) -> Result<std::string> {
        return path == "/slurm.conf" ? Result<std::string>{nodes} : fail(Errc::not_found, "none");
    });
    REQUIRE(cluster);
    return *cluster;
}

/// "top(1x8: pod1+pod2(2x4: ...))": the groups, their sizes and what hangs below.
std::string tree_of(const Fabric& fabric, const std::vector<OutlineGroup>& groups) {
    std::string text;
    for (const auto& group : groups) {
        text += text.empty() ? "" : " ";
        text += fmt::format("{}{}x{}", name_of(fabric, group.members.front()), group.members.size(),
                            group.nodes);
        if (!group.below.empty()) {
            text += "(" + tree_of(fabric, group.below) + ")";
        }
    }
    return text;
}

std::string extent_of(const Extent& extent) {
    return fmt::format("{}-{}", extent.least, extent.most);
}

const std::string pods =
    "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=c Nodes=n[5-6]\n"
    "SwitchName=d Nodes=n[7]\nSwitchName=pod1_ Switches=a,b\nSwitchName=pod2_ Switches=c,d\n"
    "SwitchName=top_ Switches=pod1_,pod2_\n";

}  // namespace

TEST_CASE("equal switches beside each other are one line of the tree", "[outline]") {
    struct Case {
        std::string why, topology, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"equal leaves",
         "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=t Switches=a,b\n",
         "t1x4(a2x2)"},
        {"a leaf of its own size", pods, "top_1x7(pod1_1x4(a2x2) pod2_1x3(c1x2 d1x1))"},
        {"equal pods share the line of their leaves",
         "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=p Switches=a\nSwitchName=q "
         "Switches=b\n"
         "SwitchName=t Switches=p,q\n",
         "t1x2(p2x1(a2x1))"},
        {"spines over the same leaves have them once",
         "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=p Switches=a,b\nSwitchName=q "
         "Switches=a,b\n",
         "p2x2(a2x1)"},
        {"a leaf that hangs higher up",
         "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=p Switches=a\nSwitchName=t "
         "Switches=p,b\n",
         "t1x2(b1x1 p1x1(a1x1))"},
        {"blocks",
         "BlockName=x Nodes=n[1-4]\nBlockName=y Nodes=n[5-8]\nBlockName=z Nodes=n9\nBlockSizes=1\n",
         "x2x4 z1x1"},
    }));
    CAPTURE(c.why);
    const auto fabric = fabric_of(c.topology);

    CHECK(tree_of(fabric, make_outline(fabric, nullptr).tops) == c.expected);
}

TEST_CASE("each level is counted, and who is unlike the rest is named", "[outline]") {
    const auto fabric = fabric_of(pods);
    const auto cluster =
        cluster_of("NodeName=n[1-6] Gres=gpu:8\nNodeName=n7 Gres=gpu:4\nNodeName=login\n");

    const auto outline = make_outline(fabric, &cluster);

    CHECK(outline.nodes == 7);
    CHECK(outline.gpus == 6 * 8 + 4);
    REQUIRE(outline.levels.size() == 3);
    CHECK(outline.levels[0].level == 2);
    CHECK(outline.levels[1].switches == 2);
    CHECK(extent_of(outline.levels[1].children) == "2-2");
    CHECK(extent_of(outline.levels[1].nodes) == "3-4");
    CHECK(extent_of(outline.levels[1].gpus.value()) == "20-32");
    CHECK(extent_of(outline.levels[2].children) == "1-2");
    REQUIRE(outline.misfits.size() == 1);
    CHECK(name_of(fabric, outline.misfits[0].which) == "d");
    CHECK(outline.misfits[0].children == 1);
    CHECK(outline.misfits[0].usual == 2);
    CHECK(outline.off_fabric == std::vector<std::string>{"login"});
    CHECK(outline.unknown.empty());
}

TEST_CASE("nodes that slurm.conf does not have are told", "[outline]") {
    const auto fabric = fabric_of("SwitchName=a Nodes=n[1-3]\n");
    const auto cluster = cluster_of("NodeName=n[1-2] Gres=gpu:8\n");

    const auto outline = make_outline(fabric, &cluster);

    CHECK(outline.unknown == std::vector<std::string>{"n3"});
    CHECK(outline.gpus == 16);
}

TEST_CASE("of two leaves that differ neither is as most are", "[outline][report]") {
    const auto fabric = fabric_of(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\n"
        "SwitchName=top Switches=a,b\n");
    const std::vector<report::ShownFabric> shown{{fabric, make_outline(fabric, nullptr)}};
    CHECK_THAT(report::fabric_show_text(shown, "topology.conf"),
               ContainsSubstring("b: 1 node, other leaf switches have 2"));
}

TEST_CASE("a fabric is shown as table and tree", "[outline][report]") {
    const auto fabric = fabric_of(pods);
    const auto cluster = cluster_of("NodeName=n[1-7] Gres=gpu:8\n");
    const std::vector<report::ShownFabric> shown{{fabric, make_outline(fabric, &cluster)}};

    CHECK(report::fabric_show_text(shown, "topology.conf") ==
          "topology.conf: tree, 7 nodes, 56 GPUs\n"
          "\n"
          "level    switches  children of one  nodes below one  GPUs below one\n"
          "2        1         2 switches       7                56\n"
          "1        2         2 switches       3-4              24-32\n"
          "0, leaf  4         1-2 nodes        1-2              8-16\n"
          "\n"
          "top_                                7 nodes\n"
          "  pod1_                             4 nodes\n"
          "    a,b                             2 x 2 nodes           n[1-4]\n"
          "  pod2_                             3 nodes\n"
          "    c                               2 nodes               n[5-6]\n"
          "    d                               1 node                n7\n"
          "\n"
          "Unlike the others of their level\n"
          "  d: 1 node, most leaf switches have 2\n");
    const auto json = nlohmann::json::parse(report::fabric_show_json(shown, "topology.conf"));
    CHECK(json["schema"] == "railhead.fabric-show/1");
    CHECK(json["topologies"][0]["levels"][2]["nodes"]["least"] == 1);
    CHECK(json["topologies"][0]["switches"].size() == 7);
    CHECK(json["topologies"][0]["unlike"][0]["name"] == "d");
    CHECK_THAT(report::fabric_show_svg(shown[0], "/etc/slurm/topology.conf"),
               ContainsSubstring("Fabric of topology.conf"));
}

TEST_CASE("every public topology is shown within 80 columns", "[outline][report]") {
    RAILHEAD_NEED_CORPUS();
    std::size_t shown_files = 0;
    for (const auto& name : test::list_corpus("slurm-topology", "")) {
        CAPTURE(name);
        const auto text = test::read_corpus("slurm-topology/" + name);
        std::vector<Fabric> fabrics;
        if (name.ends_with(".yaml")) {
            if (auto read = parse_topology_yaml(text, name)) {
                fabrics = std::move(*read);
            }
        } else if (auto read = parse_topology_conf(text, name)) {
            fabrics.push_back(std::move(*read));
        }
        std::vector<report::ShownFabric> shown;
        for (auto& fabric : fabrics) {
            auto outline = make_outline(fabric, nullptr);
            shown.push_back({std::move(fabric), std::move(outline)});
        }
        shown_files += shown.empty() ? 0 : 1;

        const auto out = report::fabric_show_text(shown, "/a/path/of/some/length/" + name);

        for (const auto line : split(out, '\n')) {
            CAPTURE(line);
            CHECK(report::columns(line) <= 80);
        }
        for (const auto& one : shown) {
            CHECK_FALSE(report::fabric_show_svg(one, name).empty());
        }
        CHECK_FALSE(nlohmann::json::parse(report::fabric_show_json(shown, name)).empty());
    }
    CHECK(shown_files >= 25);
}

TEST_CASE("ten thousand nodes are shown at once", "[outline][report]") {
    std::string text;
    for (int leaf = 0; leaf < 640; ++leaf) {
        text += fmt::format("SwitchName=leaf{:03} Nodes=n[{:05}-{:05}]\n", leaf, leaf * 16,
                            leaf * 16 + 15);
    }
    for (int pod = 0; pod < 20; ++pod) {
        text += fmt::format("SwitchName=pod{:02} Switches=leaf[{:03}-{:03}]\n", pod, pod * 32,
                            pod * 32 + 31);
    }
    const auto fabric = fabric_of(text + "SwitchName=core Switches=pod[00-19]\n");
    const auto begun = std::chrono::steady_clock::now();

    const auto outline = make_outline(fabric, nullptr);
    const std::vector<report::ShownFabric> shown{{fabric, outline}};
    const auto out = report::fabric_show_text(shown, "topology.conf");

    CHECK(outline.misfits.empty());
    CHECK_THAT(out,
               ContainsSubstring(
                   "    leaf[000-639]                   640 x 16 nodes        n[00000-10239]\n"));
    // Some milliseconds; the limit is for a loaded machine under a sanitizer.
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds{5});
}
