#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fabric/fabric.hpp"
#include "fabric/span.hpp"
#include "job/hostlist.hpp"
#include "support/catch.hpp"
#include "support/warnings.hpp"

using namespace railhead;
using fabric::Fabric;
using fabric::Kind;
using test::messages;

namespace {

std::string nodes_of(const Fabric& fabric, std::span<const std::uint32_t> indices) {
    std::vector<std::string> names;
    for (const auto index : indices) {
        names.push_back(fabric.nodes[index]);
    }
    return job::compress_hostlist(names);
}

/// "leaf1=n[1-2] leaf2=n3": what a table can be compared with.
std::string leaves_of(const Fabric& fabric) {
    std::vector<std::string> parts;
    const auto leaves = fabric.leaves();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        parts.push_back(fmt::format("{}={}", fabric.leaf_name(i), nodes_of(fabric, leaves[i])));
    }
    return fmt::format("{}", fmt::join(parts, " "));
}

struct Case {
    std::string why;
    std::string text;
    std::string expected;
};

}  // namespace

TEST_CASE("a tree is read with its leaves", "[topology]") {
    const auto c = GENERATE(values<Case>({
        {"two leaves and a spine",
         "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\nSwitchName=top Switches=s[0-1]\n",
         "s0=n[1-2] s1=n[3-4]"},
        {"keys in any case", "switchname=s0 NODES=n1\n", "s0=n1"},
        {"comments, also behind a value", "# all\nSwitchName=s0 Nodes=n[1-2] # rack 7\n#x\n",
         "s0=n[1-2]"},
        {"a continued line", "SwitchName=s0 \\\n  Nodes=n1,\\\nn2\n", "s0=n[1-2]"},
        {"no line end at the end", "SwitchName=s0 Nodes=n1", "s0=n1"},
        {"DOS line ends", "SwitchName=s0 Nodes=n1\r\nSwitchName=s1 Nodes=n2\r\n", "s0=n1 s1=n2"},
        {"blanks around the equals sign", "SwitchName = s0 Nodes =n1\n", "s0=n1"},
        {"a quoted value", "SwitchName=\"s0\" Nodes=\"n1,n2\"\n", "s0=n[1-2]"},
        {"names with colons and dots", "SwitchName=S-0:1.a Nodes=n1\n", "S-0:1.a=n1"},
        {"LinkSpeed is known and not used", "SwitchName=s0 LinkSpeed=100 Nodes=n1\n", "s0=n1"},
        {"a node named twice on one leaf counts once", "SwitchName=s0 Nodes=n1,n1\n", "s0=n1"},
        {"children may come before their parents' line or after",
         "SwitchName=top Switches=s0\nSwitchName=s0 Nodes=n1\n", "s0=n1"},
        {"an escaped comment sign", "SwitchName=s\\#0 Nodes=n1\n", "s#0=n1"},
    }));
    CAPTURE(c.why);
    std::vector<Error> warnings;

    const auto fabric = fabric::parse_topology_conf(c.text, "topology.conf", &warnings);

    REQUIRE(fabric);
    CHECK(fabric->kind == Kind::tree);
    CHECK(leaves_of(*fabric) == c.expected);
    CHECK(messages(warnings).empty() == (c.text.find("s1 Nodes=n2") == std::string::npos));
}

TEST_CASE("levels and node sets add up from the leaves", "[topology]") {
    const auto fabric = fabric::parse_topology_conf(
        "SwitchName=root Switches=pod,leaf3\n"
        "SwitchName=pod Switches=leaf[1-2]\n"
        "SwitchName=leaf1 Nodes=n[1-2]\n"
        "SwitchName=leaf2 Nodes=n[3-4]\n"
        "SwitchName=leaf3 Nodes=n5\n",
        "topology.conf");

    REQUIRE(fabric);
    const auto& s = fabric->switches;
    CHECK(s[0].level == 2);
    CHECK(s[1].level == 1);
    CHECK(s[2].level == 0);
    CHECK(nodes_of(*fabric, s[0].nodes) == "n[1-5]");
    CHECK(nodes_of(*fabric, s[1].nodes) == "n[1-4]");
    CHECK(fabric->roots() == std::vector<std::uint32_t>{0});
}

TEST_CASE("a switch under two others counts its nodes once", "[topology]") {
    const auto fabric = fabric::parse_topology_conf(
        "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n3\n"
        "SwitchName=a Switches=s0,s1\nSwitchName=b Switches=s0,s1\nSwitchName=c Switches=a,b\n",
        "topology.conf");

    REQUIRE(fabric);
    CHECK(nodes_of(*fabric, fabric->switches[4].nodes) == "n[1-3]");
}

TEST_CASE("several roots that each reach all nodes are no separate networks", "[topology]") {
    std::vector<Error> warnings;
    const auto fabric = fabric::parse_topology_conf(
        "SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2\n"
        "SwitchName=a Switches=s0,s1\nSwitchName=b Switches=s0,s1\n",
        "topology.conf", &warnings);

    REQUIRE(fabric);
    CHECK(fabric->roots().size() == 2);
    CHECK(messages(warnings).empty());
}

TEST_CASE("blocks are read with their sizes", "[topology]") {
    const auto fabric = fabric::parse_topology_conf(
        "BlockName=b1 Nodes=n[01-04]\nblockname=b2 nodes=n[05-08]\nBlockSizes=4,8\n",
        "topology.conf");

    REQUIRE(fabric);
    CHECK(fabric->kind == Kind::block);
    CHECK(leaves_of(*fabric) == "b1=n[01-04] b2=n[05-08]");
    CHECK(fabric->block_sizes == std::vector<std::uint32_t>{4, 8});
}

TEST_CASE("without BlockSizes the first block is the base, doubled up to 16 times", "[topology]") {
    const auto fabric = fabric::parse_topology_conf(
        "BlockName=b0\nBlockName=b1 Nodes=n[1-3]\nBlockName=b2 Nodes=n[4-9]\n", "topology.conf");

    REQUIRE(fabric);
    CHECK(fabric->block_sizes == std::vector<std::uint32_t>{3, 6, 12, 24, 48});
}

TEST_CASE("a file without nodes is no topology, and a warning says so", "[topology]") {
    const auto c = GENERATE(values<Case>({
        {"empty", "", "no switch or block with nodes"},
        {"a line end", "\n", "no switch or block with nodes"},
        {"comments", "# nothing\n# here\n", "no switch or block with nodes"},
        {"a bare switch", "SwitchName=root\n", "neither nodes nor switches"},
        {"a bare block", "BlockName=b1\nBlockSizes=4\n", "has no nodes"},
        {"a bare tree", "SwitchName=a\nSwitchName=top Switches=a\n", "neither nodes nor switches"},
    }));
    CAPTURE(c.why);
    std::vector<Error> warnings;

    const auto fabric = fabric::parse_topology_conf(c.text, "topology.conf", &warnings);

    REQUIRE(fabric);
    CHECK(fabric->kind == Kind::none);
    CHECK(fabric->leaves().empty());
    CHECK_THAT(messages(warnings), ContainsSubstring(c.expected));
    CHECK_THAT(messages(warnings), ContainsSubstring("this is no topology"));
}

TEST_CASE("what does not stop the reader is a warning with its place", "[topology]") {
    const auto c = GENERATE(values<Case>({
        {"an unknown key", "SwitchName=s0 Nodez=x Nodes=n1\n",
         "topology.conf:1:15: unknown key \"Nodez\": did you mean \"Nodes\"?"},
        {"an unknown first key", "SwichName=s0 Nodes=n1\nSwitchName=s1 Nodes=n1\n",
         "topology.conf:1:1: unknown key \"SwichName\": did you mean \"SwitchName\"?"},
        {"a node under two leaves", "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[2-4]\n",
         "2 nodes under more than one leaf switch: n[2-3]"},
        {"a storage switch taken for a leaf",
         "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=st Nodes=n[1-6]\n",
         "6 nodes under more than one leaf switch: n[1-6]"},
        {"separate fabrics", "SwitchName=fa Nodes=n[1-3]\nSwitchName=fb.unknown Nodes=n4\n",
         "no switch joins all nodes, a job stays within one of these: fa (3 nodes), fb.unknown (1 "
         "node)"},
        {"an empty value that eats the next key", "SwitchName=s0 Switches= Nodes=n1\n",
         "topology.conf:1:15: \"Switches\" has no value: Slurm takes the next key for it"},
        {"both kinds", "SwitchName=s0 Nodes=n1\nBlockName=b0 Nodes=n2\n",
         "topology.conf:2:1: switches and blocks in one file"},
        {"an Include", "Include other.conf\nSwitchName=s0 Nodes=n1\n",
         "topology.conf:1:1: an Include line"},
        {"the place on a continued line", "SwitchName=s0 \\\n Nodez=1 Nodes=n1\n",
         "topology.conf:2:2: unknown key"},
    }));
    CAPTURE(c.why);
    std::vector<Error> warnings;

    const auto fabric = fabric::parse_topology_conf(c.text, "topology.conf", &warnings);

    REQUIRE(fabric);
    CHECK(fabric->kind == Kind::tree);
    CHECK_THAT(messages(warnings), ContainsSubstring(c.expected));
}

TEST_CASE("what Slurm refuses is an error with its place", "[topology][errors]") {
    const auto c = GENERATE(values<Case>({
        {"a switch defined twice", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
         "topology.conf:2:1: \"a\" is defined twice"},
        {"a block defined twice", "BlockName=a Nodes=n1\nBlockName=a Nodes=n2\n",
         "topology.conf:2:1: \"a\" is defined twice"},
        {"an unknown child", "SwitchName=a Switches=b\n",
         "topology.conf:1:14: switch \"a\" names the child \"b\", which is not in this file"},
        {"a switch that is its own child", "SwitchName=a Switches=a\n", "which is itself"},
        {"a circle", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
         "topology.conf:1:14: switch \"a\" is in or above a circle"},
        {"nodes and switches", "SwitchName=b Nodes=n1\nSwitchName=a Nodes=n2 Switches=b\n",
         "topology.conf:2:23: switch \"a\" has both"},
        {"a bad host list", "SwitchName=a Nodes=n[1-\n", "topology.conf:1:14: Nodes: bracket"},
        {"a backwards range", "SwitchName=a Nodes=n[3-1]\n", "\"3-1\" is not a number or a range"},
        {"a blank in a host list", "SwitchName=a Nodes=n1, n2\n",
         "topology.conf:1:24: \"n2\" is not Key=Value"},
        {"no name", "SwitchName= Nodes=n1\n", "topology.conf:1:1: SwitchName without a name"},
        {"sizes that are no doublings", "BlockSizes=4,12\nBlockName=a Nodes=n1\n",
         "topology.conf:1:1: BlockSizes: \"12\" is not the first size times"},
        {"sizes that shrink", "BlockSizes=8,4\n", "\"4\" is not the first size times"},
        {"a size of zero", "BlockSizes=0\n", "\"0\" is not"},
        {"no number", "BlockSizes=four\n", "\"four\" is not"},
        {"a NUL byte", std::string{"# x\nSwitchName=a\0", 17}, "topology.conf:2:1: a NUL byte"},
    }));
    CAPTURE(c.why);

    const auto fabric = fabric::parse_topology_conf(c.text, "topology.conf");

    REQUIRE_FALSE(fabric);
    CHECK(fabric.error().code == Errc::bad_input);
    CHECK_THAT(to_string(fabric.error()), ContainsSubstring(c.expected));
}

TEST_CASE("hostile topology files are read or refused, quickly", "[topology][hostile]") {
    const auto read = [](const std::string& text) {
        return fabric::parse_topology_conf(text, "t").has_value();
    };
    const std::size_t size = 10U << 20U;
    CHECK_FALSE(read(std::string(size, 'x')));
    CHECK_FALSE(read("SwitchName=a Nodes=" + std::string(size, '[')));
    CHECK_FALSE(read(std::string(size / 10, '\\')));
    CHECK(read(std::string(size / 10, '\n')));
    CHECK(read(std::string(size, '#')));
    CHECK_FALSE(read("SwitchName=a Nodes=n[0-99999999]"));
    std::string chain = "SwitchName=s0 Nodes=n1\n";
    for (int i = 1; i < 50'000; ++i) {
        chain += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
    }
    CHECK_FALSE(read(chain));
    std::string wide = "SwitchName=s Nodes=n[0-49999]\n";
    for (int i = 0; i < 100; ++i) {
        wide += fmt::format("SwitchName=p{} Switches=s\n", i);
    }
    CHECK_FALSE(read(wide));
}

TEST_CASE("the minimal span fills the largest leaves first", "[topology][span]") {
    struct Span {
        std::string why;
        std::vector<std::uint32_t> sizes;
        std::uint32_t nodes;
        std::uint32_t expected;
    };
    const auto c = GENERATE(values<Span>({
        {"fits one", {16, 16}, 16, 1},
        {"one more node needs a second", {16, 16}, 17, 2},
        {"all of it", {16, 16}, 32, 2},
        {"more than there is", {16, 16}, 33, 0},
        {"uneven leaves in any order", {2, 30, 4}, 31, 2},
        {"empty leaves do not count", {0, 0, 4}, 4, 1},
        {"no leaves", {}, 1, 0},
        {"no nodes", {4}, 0, 0},
        {"sums beyond 32 bits", {4294967295U, 4294967295U}, 4294967295U, 1},
    }));
    CAPTURE(c.why);

    CHECK(fabric::minimal_span(c.sizes, c.nodes) == c.expected);
    CHECK(fabric::SpanTable{c.sizes}.least(c.nodes) == c.expected);
}

TEST_CASE("a table of spans answers for every job as filling leaf by leaf does", "[topology][span]") {
    std::mt19937 draw{7};
    for (int trial = 0; trial < 50; ++trial) {
        const bool large = trial % 10 == 0;  // sizes beyond those that are counted
        std::vector<std::uint32_t> sizes(draw() % 20);
        std::uint32_t nodes = 0;
        for (auto& size : sizes) {
            size = static_cast<std::uint32_t>(draw() % (large ? 6000 : 9));
            nodes += size;
        }
        const fabric::SpanTable table{sizes};
        CHECK(table.capacity() == nodes);
        for (std::uint32_t job = 0; job <= nodes + 1; job += large ? 97 : 1) {
            CAPTURE(trial, job);
            CHECK(table.least(job) == fabric::minimal_span(sizes, job));
        }
    }
}
