// The corpus' topology.conf, topology.yaml, slurm.conf and gres.conf files: what we read in them, as text.
#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/levels.hpp"
#include "fabric/topology_yaml.hpp"
#include "job/hostlist.hpp"
#include "job/request.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/golden.hpp"

using namespace railhead;
using fabric::Fabric;
using fabric::Kind;

namespace {

constexpr auto folder = "slurm-topology";

std::string warnings_text(const std::vector<Error>& warnings) {
    std::string text;
    for (const auto& warning : warnings) {
        text += fmt::format("warning {}\n", to_string(warning));
    }
    return text;
}

/// "2 x 20, 1 x 7": how many leaves have how many nodes, largest first.
std::string sizes_text(const Fabric& fabric) {
    std::multiset<std::size_t, std::greater<>> sizes;
    for (const auto leaf : fabric.leaves()) {
        sizes.insert(leaf.size());
    }
    std::vector<std::string> parts;
    for (auto at = sizes.begin(); at != sizes.end(); at = sizes.upper_bound(*at)) {
        parts.push_back(fmt::format("{} x {}", sizes.count(*at), *at));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string leaves_text(const Fabric& fabric) {
    std::string text;
    const auto leaves = fabric.leaves();
    for (std::size_t i = 0; i < std::min<std::size_t>(leaves.size(), 3); ++i) {
        text += fmt::format("leaf {}: {} to {}\n", fabric.leaf_name(i),
                            fabric.nodes[leaves[i].front()], fabric.nodes[leaves[i].back()]);
    }
    return text;
}

std::string summary(const Fabric& fabric) {
    unsigned top = 0;
    for (const auto& s : fabric.switches) {
        top = std::max(top, s.level);
    }
    std::string text = fmt::format("kind {}\nnodes {}\nleaves {}: {}\n",
                                   fabric::to_string(fabric.kind),
                                   fabric.nodes.size(), fabric.leaves().size(), sizes_text(fabric));
    if (fabric.kind == Kind::tree) {
        text += fmt::format("switches {}, top level {}, roots {}\n", fabric.switches.size(), top,
                            fabric.roots().size());
    } else if (fabric.kind == Kind::block) {
        text += fmt::format("block sizes {}\n", fmt::join(fabric.block_sizes, ", "));
    }
    for (const auto& level : fabric::find_levels(fabric)) {
        text += fmt::format("level {}: {} groups\n", level.level, level.groups);
    }
    return text + leaves_text(fabric);
}

std::string minutes_text(const std::optional<std::uint32_t>& minutes) {
    return !minutes ? "-" : *minutes == job::unlimited ? "unlimited" : std::to_string(*minutes);
}

std::string node_text(const fabric::NodeFacts& node) {
    std::vector<std::string> gpus;
    for (const auto& [type, count] : node.gpus) {
        gpus.push_back(fmt::format("{}:{}", type.empty() ? "any" : type, count));
    }
    return fmt::format("{}x{}x{} cpus {} memory {} gpus {} features {} weight {}", node.sockets,
                       node.cores_per_socket, node.threads_per_core, node.cpus, node.memory_mb,
                       gpus.empty() ? "none" : fmt::format("{}", fmt::join(gpus, ",")),
                       fmt::join(node.features, ","), node.weight);
}

std::string summary(const fabric::Cluster& cluster) {
    std::string text = fmt::format("cluster {}\ntopology {}\nselect {}\n", cluster.name,
                                   cluster.topology_plugin, cluster.select_parameters);
    std::map<std::string, std::vector<std::string>> alike;
    for (const auto& node : cluster.nodes) {
        alike[node_text(node)].push_back(node.name);
    }
    for (const auto& [facts, names] : alike) {
        text += fmt::format("{}: {}\n", count_of(names.size(), "node"), facts);
    }
    for (const auto& p : cluster.partitions) {
        text += fmt::format("partition {}{}: {}, time {} of {}, sharing {}\n", p.name,
                            p.is_default ? " (default)" : "", count_of(p.nodes.size(), "node"),
                            minutes_text(p.default_time_min), minutes_text(p.max_time_min),
                            p.over_subscribe.empty() ? "-" : p.over_subscribe);
    }
    return text + warnings_text(cluster.warnings);
}

Fabric read_fabric(const std::string& name) {
    return fabric::parse_topology_conf(test::read_corpus(fmt::format("{}/{}", folder, name)), name)
        .value();
}

/// Reads `name` of the corpus as /etc/slurm/slurm.conf, and `gres` as the gres.conf beside it.
fabric::Cluster read_cluster(const std::string& slurm_conf, const std::string& gres_conf) {
    return fabric::read_cluster("/slurm.conf",
                                [&](const std::string& path) -> Result<std::string> {
                                    if (path == "/slurm.conf") {
                                        return slurm_conf;
                                    }
                                    if (path == "/gres.conf" && !gres_conf.empty()) {
                                        return gres_conf;
                                    }
                                    return fail(Errc::not_found, "no such file: " + path);
                                })
        .value();
}

}  // namespace

TEST_CASE("public topology.conf files give the fabrics we reviewed", "[golden][topology]") {
    RAILHEAD_NEED_CORPUS();
    for (const auto& name : test::list_corpus(folder, ".topology.conf")) {
        CAPTURE(name);
        std::vector<Error> warnings;
        const auto fabric = fabric::parse_topology_conf(
            test::read_corpus(fmt::format("{}/{}", folder, name)), name, &warnings);

        const auto text = fabric ? summary(*fabric) + warnings_text(warnings)
                                 : fmt::format("error {}\n", to_string(fabric.error()));

        CHECK(text == test::golden("golden/topology/" + name + ".txt", text));
    }
}

TEST_CASE("public topology.yaml files give the fabrics we reviewed, bad ones the errors",
          "[golden][topology][yaml]") {
    RAILHEAD_NEED_CORPUS();
    for (const auto& name : test::list_corpus(folder, ".topology.yaml")) {
        CAPTURE(name);
        std::vector<Error> warnings;
        const auto fabrics = fabric::parse_topology_yaml(
            test::read_corpus(fmt::format("{}/{}", folder, name)), name, &warnings);

        std::string text;
        if (fabrics) {
            for (const auto& fabric : *fabrics) {
                text += fmt::format("topology {}{}\n{}", fabric.name,
                                    fabric.is_default ? " (default)" : "", summary(fabric));
            }
            text += warnings_text(warnings);
        } else {
            text = fmt::format("error {}\n", to_string(fabrics.error()));
        }

        CHECK(fabrics.has_value() == (name.find("-bad-") == std::string::npos));
        CHECK(text == test::golden("golden/topology/" + name + ".txt", text));
    }
}

TEST_CASE("public slurm.conf files give the clusters we reviewed", "[golden][cluster]") {
    RAILHEAD_NEED_CORPUS();
    for (const auto& name : test::list_corpus(folder, ".slurm.conf")) {
        CAPTURE(name);
        const auto text =
            summary(read_cluster(test::read_corpus(fmt::format("{}/{}", folder, name)), ""));

        CHECK(text == test::golden("golden/topology/" + name + ".txt", text));
    }
}

TEST_CASE("public gres.conf files give the GPU types we reviewed", "[golden][gres]") {
    RAILHEAD_NEED_CORPUS();
    // Nodes of the names that these files use, each with eight GPUs of no type.
    const std::string nodes = "NodeName=tux[0-31],node[1-8],n[1-8],test_linux[1-8] Gres=gpu:8\n";
    for (const auto& name : test::list_corpus(folder, ".gres.conf")) {
        CAPTURE(name);
        const auto text =
            summary(read_cluster(nodes, test::read_corpus(fmt::format("{}/{}", folder, name))));

        CHECK(text == test::golden("golden/topology/" + name + ".txt", text));
    }
}

// What the corpus' own index says of these files.

TEST_CASE("the index' claims about trees hold", "[golden][topology]") {
    RAILHEAD_NEED_CORPUS();

    SECTION("every leaf has 20 nodes; root reaches all") {
        const auto fabric = read_fabric("slurm-tree-133-1.topology.conf");
        for (const auto leaf : fabric.leaves()) {
            CHECK(leaf.size() == 20);
        }
        const auto roots = fabric.roots();
        REQUIRE(roots.size() == 1);
        CHECK(fabric.switches[roots[0]].nodes.size() == fabric.nodes.size());
    }
    SECTION("leaf depth differs between subtrees: root has one intermediate switch and 13 others") {
        const auto fabric = read_fabric("slurm-tree-133-2.topology.conf");
        const auto& root = fabric.switches.at(fabric.roots().at(0));
        std::set<unsigned> levels;
        for (const auto child : root.children) {
            levels.insert(fabric.switches[child].level);
        }
        CHECK(root.children.size() == 14);
        CHECK(levels.size() == 2);
    }
    SECTION("jobs cannot span grp10 and grp11: two trees") {
        CHECK(read_fabric("slurm-tree-133-4.topology.conf").roots().size() == 2);
    }
    SECTION("leaf 2 of the GUID tree has c01-04,07,10-12,14,16,18") {
        const auto fabric = read_fabric("topograph-ut-08.topology.conf");
        const auto wanted =
            job::expand_hostlist("a06-p1-dgx-02-c[01-04,07,10-12,14,16,18]").value();
        const auto leaves = fabric.leaves();
        CHECK(std::ranges::any_of(leaves, [&](const auto leaf) {
            return std::ranges::equal(leaf, wanted, {}, [&](auto i) { return fabric.nodes[i]; });
        }));
    }
    SECTION("dotted switch names are not cut at the dot") {
        const auto fabric = read_fabric("topograph-oci-tree.topology.conf");
        CHECK(std::ranges::any_of(fabric.switches,
                                  [](const auto& s) { return s.name.starts_with("switch.2."); }));
    }
    SECTION("12 NVLink domains, BlockSizes=8,16,32") {
        const auto fabric = read_fabric("topograph-nvl-block.topology.conf");
        CHECK(fabric.leaves().size() == 12);
        CHECK(fabric.block_sizes == std::vector<std::uint32_t>{8, 16, 32});
    }
    SECTION("30 of 32 nodes a block") {
        const auto fabric = read_fabric("slurm-man-2.topology.conf");
        CHECK(fabric.block_sizes == std::vector<std::uint32_t>{30, 120});
    }
    SECTION("children with more than one parent") {
        const auto fabric = read_fabric("slurm-guide-02.topology.conf");
        CHECK(fabric.roots().size() > 1);
        for (const auto root : fabric.roots()) {
            CHECK(fabric.switches[root].nodes.size() == fabric.nodes.size());
        }
    }
}
