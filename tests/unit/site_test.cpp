// Several fabrics, networks and levels: which fabric governs a partition, and how few switches of
// each level can hold a job there.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fabric/levels.hpp"
#include "policy/parse.hpp"
#include "policy/review.hpp"
#include "policy/site.hpp"
#include "report/explain.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"
#include "support/reviews.hpp"

namespace {

using namespace railhead;
using fabric::Fabric;

using test::enforce;

Fabric read(const std::string& text, const std::string& name = "", bool is_default = false) {
    auto fabric = fabric::parse_topology_conf(text, "topology.conf").value();
    fabric.name = name;
    fabric.is_default = is_default;
    return fabric;
}

/// Eight nodes below 2, 4 and 2 switches of one level each: pods of four, and a top.
const std::string three_levels =
    "SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\nSwitchName=l3 Nodes=n[5-6]\n"
    "SwitchName=l4 Nodes=n[7-8]\nSwitchName=p1 Switches=l[1-2]\nSwitchName=p2 Switches=l[3-4]\n"
    "SwitchName=top Switches=p[1-2]\n";
const std::string two_leaves =
    "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[5-8]\nSwitchName=top Switches=a,b\n";
const std::string four_leaves =
    "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=c Nodes=n[5-6]\n"
    "SwitchName=d Nodes=n[7-8]\nSwitchName=top Switches=a,b,c,d\n";
const std::string blocks = "BlockName=a Nodes=n[1-4]\nBlockName=b Nodes=n[5-8]\nBlockSizes=4\n";

/// test::make_cluster() with a second partition on the same nodes.
policy::Site make_site(std::vector<Fabric> fabrics, const std::string& main_topology,
                       const std::string& second_topology) {
    auto cluster = test::make_cluster({});
    auto second = cluster.partitions[0];
    second.name = "second";
    second.is_default = false;
    second.topology = second_topology;
    cluster.partitions[0].topology = main_topology;
    cluster.partitions.push_back(second);
    return policy::compile(*policy::parse_policy(enforce, "p"), cluster, std::move(fabrics));
}

job::JobRequest nodes_in(std::uint32_t nodes, std::string_view partition) {
    job::JobRequest request;
    request.gpus_per_node = "gpu:8";
    request.min_nodes = request.max_nodes = nodes;
    request.tasks_per_node = 8;
    request.partition = partition;
    return request;
}

/// "level 1: 0 0 1 1": the group of each leaf.
std::string levels_of(const Fabric& fabric) {
    std::vector<std::string> lines;
    for (const auto& level : fabric::find_levels(fabric)) {
        lines.push_back(fmt::format("level {}: {}", level.level, fmt::join(level.group_of, " ")));
    }
    return fmt::format("{}", fmt::join(lines, ", "));
}

std::string networks_of(const Fabric& fabric) {
    std::vector<std::string> sets;
    for (const auto& network : fabric::find_networks(fabric)) {
        sets.push_back(fmt::format("{}", fmt::join(network, " ")));
    }
    return fmt::format("{}", fmt::join(sets, " | "));
}

}  // namespace

TEST_CASE("the leaves of a tree are grouped by network and by level", "[site][levels]") {
    struct Case {
        std::string why;
        std::string text;
        std::string networks;
        std::string levels;
    };
    const auto c = GENERATE(values<Case>({
        {"one leaf", "SwitchName=a Nodes=n1\n", "0", ""},
        {"leaves and a spine: the top tells nothing", two_leaves, "0 1", ""},
        {"pods", three_levels, "0 1 2 3", "level 1: 0 0 1 1"},
        {"four levels",
         "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\nSwitchName=l3 Nodes=n3\n"
         "SwitchName=l4 Nodes=n4\nSwitchName=l5 Nodes=n5\nSwitchName=p1 Switches=l1,l2\n"
         "SwitchName=p2 Switches=l3\nSwitchName=p3 Switches=l4,l5\nSwitchName=h1 Switches=p1,p2\n"
         "SwitchName=h2 Switches=p3\nSwitchName=top Switches=h1,h2\n",
         "0 1 2 3 4", "level 1: 0 0 1 2 2, level 2: 0 0 0 1 1"},
        {"a leaf right below the top is a pod of its own",
         "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\nSwitchName=l3 Nodes=n3\n"
         "SwitchName=p1 Switches=l1,l2\nSwitchName=top Switches=p1,l3\n",
         "0 1 2", "level 1: 0 0 1"},
        {"spines side by side over the same leaves are one",
         "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\nSwitchName=l3 Nodes=n3\n"
         "SwitchName=s1 Switches=l1,l2\nSwitchName=s2 Switches=l1,l2\nSwitchName=s3 Switches=l3\n"
         "SwitchName=top Switches=s[1-3]\n",
         "0 1 2", "level 1: 0 0 1"},
        {"several tops over everything are one network",
         "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\nSwitchName=a Switches=l1,l2\n"
         "SwitchName=b Switches=l1,l2\n",
         "0 1", ""},
        {"two networks", "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\n", "0 | 1", ""},
        {"trees of unequal depth",
         "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\nSwitchName=l3 Nodes=n3\n"
         "SwitchName=l4 Nodes=n4\nSwitchName=p1 Switches=l1,l2\nSwitchName=p2 Switches=l3\n"
         "SwitchName=top Switches=p1,p2\n",
         "0 1 2 | 3", "level 1: 0 0 1 2"},
        {"tops that share a leaf",
         "SwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\n"
         "SwitchName=l3 Nodes=n3\nSwitchName=a Switches=l1,l2\nSwitchName=b Switches=l2,l3\n",
         "0 1 | 1 2", ""},
        {"a bare switch joins nothing", "SwitchName=x\nSwitchName=l1 Nodes=n1\n", "0", ""},
        {"blocks", blocks, "0 1", ""},
        {"blocks that Slurm aggregates",
         "BlockName=a Nodes=n1\nBlockName=b Nodes=n2\nBlockName=c Nodes=n3\nBlockSizes=1,2,4\n",
         "0 1 2", "level 1: 0 0 1"},
        {"an empty block takes its place in an aggregated one",
         "BlockName=a Nodes=n1\nBlockName=b\nBlockName=c Nodes=n2\nBlockName=d Nodes=n3\n"
         "BlockName=e Nodes=n4\nBlockSizes=1,2,4\n",
         "0 1 2 3", "level 1: 0 1 1 2, level 2: 0 0 0 1"},
    }));
    CAPTURE(c.why);
    const auto fabric = read(c.text);

    CHECK(networks_of(fabric) == c.networks);
    CHECK(levels_of(fabric) == c.levels);
}

TEST_CASE("a partition is governed by the topology it names, else by the default one", "[site]") {
    struct Case {
        std::string why;
        std::string topology;  ///< of the partition
        bool first_default, second_default;
        std::string expected;  ///< name of the fabric
    };
    const auto c = GENERATE(values<Case>({
        {"by name", "wide", true, false, "wide"},
        {"by name, though another is the default", "narrow", false, true, "narrow"},
        {"the default one", "", false, true, "wide"},
        {"none is marked: the first", "", false, false, "narrow"},
        {"an unknown name: none", "hall", true, false, "-"},
        {"names are of one case", "WIDE", true, false, "-"},
    }));
    CAPTURE(c.why);

    const auto site = make_site(
        {read(four_leaves, "narrow", c.first_default), read(two_leaves, "wide", c.second_default)},
        c.topology, "");

    const auto* fabric = site.fabric_of(*site.find("main"));
    CHECK((fabric != nullptr ? fabric->fabric.name : "-") == c.expected);
    CHECK(site.warnings.size() == (c.expected == "-" ? 1 : 0));
}

TEST_CASE("an unknown Topology= is a warning, and leaves its jobs to Slurm", "[site]") {
    const auto site = make_site({read(two_leaves, "wide", true)}, "hall", "");

    REQUIRE(site.warnings.size() == 1);
    CHECK(site.warnings[0].message ==
          "partition main: there is no topology \"hall\": its jobs are placed by Slurm alone");
    CHECK_FALSE(policy::review(nodes_in(2, "main"), site).changes.switches);
    CHECK(policy::review(nodes_in(2, "second"), site).changes.switches == 1U);
}

TEST_CASE("each partition has the least leaves of its own fabric", "[site][review]") {
    const auto site =
        make_site({read(four_leaves, "narrow"), read(two_leaves, "wide")}, "narrow", "wide");

    CHECK(policy::review(nodes_in(3, "main"), site).changes.switches == 2U);
    CHECK(policy::review(nodes_in(3, "second"), site).changes.switches == 1U);
    SECTION("and named together, the larger of the two") {
        const auto review = policy::review(nodes_in(3, "second,main"), site);
        CHECK(review.changes.switches == 2U);
        CHECK(review.seen.leaves == 4);
    }
}

TEST_CASE("partitions on fabrics of two kinds get no switches together", "[site][review]") {
    const auto site = make_site({read(two_leaves, "tree"), read(blocks, "block")}, "tree", "block");

    CHECK(policy::review(nodes_in(2, "main"), site).changes.switches == 1U);
    CHECK_FALSE(policy::review(nodes_in(2, "main,second"), site).changes.switches);
    CHECK_FALSE(policy::review(nodes_in(2, "second,main"), site).changes.switches);
}

TEST_CASE("partitions on two block fabrics get no segment together", "[site][review]") {
    const auto site = make_site({read(blocks, "x"), read(blocks, "y")}, "x", "y");
    auto request = nodes_in(4, "main");
    request.model_parallel_group = 4;
    CHECK(policy::review(request, site).changes.segment == 4);

    auto both = nodes_in(4, "main,second");
    both.model_parallel_group = 4;
    CHECK_FALSE(policy::review(both, site).changes.segment);
}

TEST_CASE("a job that is larger than any network is told so", "[site][review]") {
    const std::string two_networks = "SwitchName=a Nodes=n[1-5]\nSwitchName=b Nodes=n[6-8]\n";
    const auto site = make_site({read(two_networks, "x"), read(two_leaves, "y")}, "x", "y");
    const auto told = [&](std::uint32_t nodes, std::string_view partition) {
        const auto review = policy::review(nodes_in(nodes, partition), site);
        const auto note = std::ranges::find(review.notes, "placement", &policy::Note::rule);
        return note == review.notes.end() ? "" : note->text;
    };

    CHECK(told(6, "main") ==
          "no network of the fabric has 6 nodes for this job, the largest has 5: Slurm joins none");
    CHECK(told(4, "main") == "4 nodes fit 1 leaf switch: waits up to 5 min for it");
    // The second partition's one network holds it.
    CHECK_THAT(told(6, "main,second"), ContainsSubstring("placed by Slurm alone"));
}

TEST_CASE("a fabric of another kind leaves its jobs to Slurm", "[site][review]") {
    Fabric flat;
    flat.name = "flat";
    flat.kind = fabric::Kind::flat;
    const auto site = make_site({read(two_leaves, "wide", true), flat}, "flat", "wide");

    CHECK(site.fabric_of(*site.find("main")) == nullptr);
    CHECK(site.warnings.empty());
    CHECK_FALSE(policy::review(nodes_in(2, "main"), site).changes.switches);
    CHECK(policy::review(nodes_in(2, "second"), site).changes.switches == 1U);
}

TEST_CASE("the least switches are told level by level, each for itself", "[site][review]") {
    struct Case {
        std::string why;
        std::string text;
        std::uint32_t nodes;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"half a leaf's pod", three_levels, 2, "1 of 4, level 1: 1 of 2"},
        {"one pod", three_levels, 4, "2 of 4, level 1: 1 of 2"},
        {"more than a pod", three_levels, 5, "3 of 4, level 1: 2 of 2"},
        // Two leaves of three in two pods hold six; a third pod of six small leaves holds it alone.
        {"the fewest pods are not those of the fewest leaves",
         "SwitchName=l1 Nodes=n[1-3]\nSwitchName=l2 Nodes=n[4-6]\nSwitchName=l3 Nodes=n[7-8]\n"
         "SwitchName=l4 Nodes=n[9-10]\nSwitchName=l5 Nodes=n[11-12]\nSwitchName=p1 Switches=l1\n"
         "SwitchName=p2 Switches=l2\nSwitchName=p3 Switches=l[3-5]\nSwitchName=t Switches=p[1-3]\n",
         6, "2 of 5, level 1: 1 of 3"},
    }));
    CAPTURE(c.why);
    test::ClusterShape shape;
    shape.nodes = 12;
    auto cluster = test::make_cluster(shape);
    // Only nodes of the fabric: one that is on no leaf would leave all to Slurm.
    const auto fabric = read(c.text);
    cluster.partitions[0].nodes.resize(fabric.nodes.size());
    const auto site = policy::compile(*policy::parse_policy(enforce, "p"), cluster, {fabric});

    const auto seen = policy::review(nodes_in(c.nodes, "main"), site).seen;

    auto text = fmt::format("{} of {}", seen.least_leaves, seen.leaves);
    for (const auto& level : seen.above) {
        if (level.least > 0) {
            text += fmt::format(", level {}: {} of {}", level.level, level.least, level.usable);
        }
    }
    CHECK(text == c.expected);
}

TEST_CASE("levels follow what narrows the job", "[site][review]") {
    auto cluster = test::make_cluster({});
    const auto site =
        policy::compile(*policy::parse_policy(enforce, "p"), cluster, {read(three_levels)});
    auto request = nodes_in(4, "main");
    request.exclude = "n[1,5]";

    const auto review = policy::review(request, site);

    CHECK(review.seen.least_leaves == 2);
    CHECK(review.seen.above[0].least == 2);
    request.exclude = "n5";
    CHECK(policy::review(request, site).seen.above[0].least == 1);
}

TEST_CASE("explain shows a line for each level", "[site][explain]") {
    const auto site = policy::compile(*policy::parse_policy(enforce, "p"), test::make_cluster({}),
                                      {read(three_levels)});
    const auto request = nodes_in(4, "main");
    const auto review = policy::review(request, site);
    const std::vector<report::Explained> explained{{request, review}};

    const auto text = report::explain_text("job.sbatch", explained, site);

    CHECK_THAT(text,
               ContainsSubstring("fabric   2 leaf switches at least, of 4 with usable nodes\n"));
    CHECK_THAT(text,
               ContainsSubstring("         1 level-1 switch at least, of 2 with usable nodes\n"));
    CHECK_THAT(report::explain_json("job.sbatch", explained, site),
               ContainsSubstring("\"levels\": ["));
}

TEST_CASE("an update of a job is planned where every fabric of its partitions agrees",
          "[site][update]") {
    job::JobRequest update;
    update.min_nodes = 5;
    SECTION("both say two") {
        const auto site = make_site({read(two_leaves, "x"), read(two_leaves, "y")}, "x", "y");
        CHECK(policy::review_update(update, site).changes.switches == 2U);
    }
    SECTION("they differ") {
        const auto site = make_site({read(two_leaves, "x"), read(four_leaves, "y")}, "x", "y");
        CHECK_FALSE(policy::review_update(update, site).changes.any());
        update.partition = "second";
        CHECK(policy::review_update(update, site).changes.switches == 3U);
    }
    SECTION("one has blocks, where switches mean nothing") {
        const auto site = make_site({read(two_leaves, "x"), read(blocks, "y")}, "x", "y");
        CHECK_FALSE(policy::review_update(update, site).changes.any());
    }
}
