// topology.yaml: what is taken, warned about and refused, each as slurmctld 26.05 was seen to do.
#include "fabric/topology_yaml.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/hostlist.hpp"
#include "support/catch.hpp"
#include "support/warnings.hpp"

using namespace railhead;
using fabric::Fabric;
using fabric::Kind;
using test::messages;

namespace {

const std::string tree = "  tree:\n    switches:\n      - switch: s1\n        nodes: n[1-4]\n";

/// A topology "x" with these lines below its name.
std::string topology(const std::string& lines) {
    return "- topology: x\n" + lines;
}

std::string fabric_text(const Fabric& fabric) {
    auto text = fmt::format("{}{}: {}", fabric.name, fabric.is_default ? " (default)" : "",
                            fabric::to_string(fabric.kind));
    const auto leaves = fabric.leaves();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        std::vector<std::string> names;
        for (const auto node : leaves[i]) {
            names.push_back(fabric.nodes[node]);
        }
        text += fmt::format(" {}={}", fabric.leaf_name(i), job::compress_hostlist(names));
    }
    if (!fabric.block_sizes.empty()) {
        text += fmt::format(" sizes {}", fmt::join(fabric.block_sizes, ","));
    }
    return text;
}

std::string fabrics_text(const Result<std::vector<Fabric>>& fabrics) {
    if (!fabrics) {
        return "error " + to_string(fabrics.error());
    }
    std::vector<std::string> parts;
    for (const auto& fabric : *fabrics) {
        parts.push_back(fabric_text(fabric));
    }
    return fmt::format("{}", fmt::join(parts, " | "));
}

struct Case {
    std::string why;
    std::string text;
    std::string expected;
};

}  // namespace

TEST_CASE("topologies of each kind are read, with their names and the default",
          "[topology][yaml]") {
    const auto c = GENERATE(values<Case>({
        {"a tree", topology("  cluster_default: true\n" + tree), "x (default): tree s1=n[1-4]"},
        {"children and nodes",
         "- topology: x\n  tree:\n    switches:\n      - switch: top\n        children: s[1-2]\n"
         "      - switch: s1\n        nodes: n[1-2]\n      - {switch: s2, nodes: 'n3,n4'}\n",
         "x: tree s1=n[1-2] s2=n[3-4]"},
        {"blocks",
         topology("  block:\n    block_sizes: [2, 4]\n    blocks:\n      - block: a\n"
                  "        nodes: n[1-2]\n      - block: b\n        nodes: n[3-4]\n"),
         "x: block a=n[1-2] b=n[3-4] sizes 2,4"},
        {"blocks without sizes",
         topology("  block:\n    blocks:\n      - {block: a, nodes: 'n[1-3]'}\n"),
         "x: block a=n[1-3] sizes 3,6,12,24,48"},
        {"one size, one block, as no list",
         topology("  block:\n    block_sizes: 2\n    blocks:\n"
                  "      block: a\n      nodes: n[1-2]\n"),
         "x: block a=n[1-2] sizes 2"},
        {"blocks and switches without nodes",
         topology("  tree:\n    switches:\n      - switch: a\n        nodes:\n      - switch: b\n"
                  "        nodes: n1\n"),
         "x: tree b=n1"},
        {"flat", topology("  flat: true\n"), "x: flat"},
        {"flat as an empty map", topology("  flat: {}\n"), "x: flat"},
        {"a ring", topology("  ring:\n    rings:\n      - ring: r1\n        nodes: n[1-8]\n"),
         "x: ring"},
        {"a torus",
         topology("  torus3d:\n    toruses:\n      - name: p\n        nodes: n[1-4]\n"
                  "        dims: {x: 2, y: 2, z: 1}\n        placements:\n"
                  "          - dims: {x: 1, y: 1, z: 1}\n"),
         "x: torus3d"},
        {"several, in the order of the file",
         topology(tree) + "- topology: y\n  cluster_default: yes\n  flat: true\n",
         "x: tree s1=n[1-4] | y (default): flat"},
        {"a single one, as no list",
         "topology: x\n" + tree.substr(2, 6) + "  switches:\n    - {switch: s1, nodes: n1}\n",
         "x: tree s1=n1"},
        {"kinds that are said and empty, as scontrol prints them",
         topology("  block: {}\n  flat: false\n  ring: {}\n  torus3d: {}\n" + tree),
         "x: tree s1=n[1-4]"},
        {"numbers as names",
         topology("  tree:\n    switches:\n      - switch: 7\n"
                  "        nodes: \"1101\"\n"),
         "x: tree 7=1101"},
        {"blanks in a list", topology("  tree: {switches: [{switch: s1, nodes: 'n1, n2'}]}\n"),
         "x: tree s1=n[1-2]"},
        {"names with colons", topology("  tree: {switches: [{switch: 'S-0:1', nodes: n1}]}\n"),
         "x: tree S-0:1=n1"},
        {"comments, a document mark, and an end without a line end",
         "# all\n---\n- topology: x # this\n  flat: true", "x: flat"},
        {"DOS line ends", "- topology: x\r\n  flat: true\r\n", "x: flat"},
        {"JSON", R"([{"topology":"x","tree":{"switches":[{"switch":"s1","nodes":"n1"}]}}])",
         "x: tree s1=n1"},
        {"no name", "- flat: true\n", ": flat"},
    }));
    CAPTURE(c.why);
    std::vector<Error> warnings;

    const auto fabrics = fabric::parse_topology_yaml(c.text, "topology.yaml", &warnings);

    CHECK(fabrics_text(fabrics) == c.expected);
    CHECK(messages(warnings).empty());
}

TEST_CASE("what Slurm takes of topology.yaml and people rarely mean is a warning with its place",
          "[topology][yaml]") {
    const auto c = GENERATE(values<Case>({
        {"an unknown key", topology("  tre: x\n" + tree),
         "topology.yaml:2:3: unknown key \"tre\": did you mean \"tree\"?"},
        {"a key of a switch", topology("  tree: {switches: [{switch: s, node: n2, nodes: n1}]}\n"),
         "topology.yaml:2:33: unknown key \"node\": did you mean \"nodes\"?"},
        {"keys are of one case", topology("  Tree: {}\n  flat: true\n"),
         "topology.yaml:2:3: unknown key \"Tree\": did you mean \"tree\"?"},
        {"a key twice", topology("  flat: true\n  flat: true\n"),
         "topology.yaml:3:3: \"flat\" is given twice: Slurm takes the last"},
        {"nodes and children",
         topology("  tree:\n    switches:\n      - {switch: b, nodes: n2, children: a}\n"),
         "topology.yaml:4:9: switch \"b\" has nodes and children: Slurm leaves the children out"},
        {"two topologies of one name", topology(tree) + topology("  flat: true\n"),
         "topology.yaml:6:3: topology \"x\" is defined twice: Slurm takes the first"},
        {"two defaults",
         topology("  cluster_default: true\n" + tree) +
             "- topology: y\n  cluster_default: true\n  flat: true\n",
         "topology.yaml:7:3: topology \"y\" is a second cluster_default: Slurm takes the first"},
        {"neither true nor false", topology("  flat: maybe\n"),
         "topology.yaml:2:3: \"maybe\" is neither true nor false: taken as true"},
        {"a second document", topology(tree) + "---\n- topology: y\n  flat: true\n",
         "a second document: Slurm reads the first alone"},
        {"a node under two leaves",
         topology("  tree:\n    switches:\n      - {switch: a, nodes: 'n[1-2]'}\n"
                  "      - {switch: b, nodes: 'n[2-3]'}\n      - {switch: t, children: 'a,b'}\n"),
         "topology.yaml:2:3: 1 node under more than one leaf switch: n2"},
        {"two networks",
         topology("  tree:\n    switches:\n      - {switch: a, nodes: n1}\n"
                  "      - {switch: b, nodes: n2}\n"),
         "topology.yaml:2:3: no switch joins all nodes, a job stays within one of these: a (1 "
         "node), b (1 node)"},
        {"a tree without nodes", topology("  tree: {switches: [{switch: a}]}\n"),
         "topology.yaml:2:3: no switch or block with nodes: this is no topology"},
        {"an empty list", "[]\n", "topology.yaml:1:1: no topology in this file"},
        {"nothing", "", "topology.yaml:1:1: no topology in this file"},
        {"a document mark", "---\n", "no topology in this file"},
        {"comments alone", "# none\n# here\n", "no topology in this file"},
    }));
    CAPTURE(c.why);
    std::vector<Error> warnings;

    const auto fabrics = fabric::parse_topology_yaml(c.text, "topology.yaml", &warnings);

    CAPTURE(fabrics_text(fabrics));
    REQUIRE(fabrics);
    CHECK_THAT(messages(warnings), ContainsSubstring(c.expected));
    CHECK(warnings.size() == 1);
}

TEST_CASE("of a key that is given twice the last counts", "[topology][yaml]") {
    const auto text = topology(tree + "  tree: {switches: [{switch: s9, nodes: n9}]}\n");

    CHECK(fabrics_text(fabric::parse_topology_yaml(text, "t")) == "x: tree s9=n9");
}

TEST_CASE("what Slurm refuses of topology.yaml is an error with its place",
          "[topology][yaml][errors]") {
    const auto c = GENERATE(values<Case>({
        {"a word for the file", "topology/tree\n",
         "topology.yaml:1:1: this is to be a list of topologies, not the word \"topology/tree\""},
        {"a word for a topology", "- x\n",
         "topology.yaml:1:3: this is to be a map, as every topology"},
        {"no kind", topology("  cluster_default: true\n"),
         "topology.yaml:1:3: topology \"x\" is of no kind: give it a tree, block, flat, ring or"},
        {"flat: false alone", topology("  flat: false\n"), "topology \"x\" is of no kind"},
        {"two kinds", topology(tree + "  flat: true\n"),
         "topology.yaml:2:3: \"tree\" beside \"flat\": a topology is of one kind"},
        {"a tree that is a word", topology("  tree: SwitchName=s1\n"),
         "topology.yaml:2:3: \"tree\" is to be a map, not the word \"SwitchName=s1\""},
        {"a tree that is a list", topology("  tree: []\n"), "\"tree\" is to be a map, not a list"},
        {"a tree that is nothing", topology("  tree:\n  flat: true\n"),
         "topology.yaml:2:3: \"tree\" is to be a map, not nothing"},
        {"no switches", topology("  tree: {switch: s1}\n"),
         "topology.yaml:2:3: \"tree\" has no \"switches\""},
        {"switches that are words", topology("  tree: {switches: [s1]}\n"),
         "topology.yaml:2:21: this is to be a map, as every item of \"switches\", not the word "
         "\"s1\""},
        {"a switch without a name", topology("  tree: {switches: [{nodes: n1}]}\n"),
         "topology.yaml:2:21: switch without a name"},
        {"a switch twice",
         topology("  tree:\n    switches:\n      - {switch: s, nodes: n1}\n"
                  "      - {switch: s, nodes: n2}\n"),
         "topology.yaml:5:10: \"s\" is defined twice"},
        {"a child that is not there", topology("  tree: {switches: [{switch: s, children: t}]}\n"),
         "topology.yaml:2:33: switch \"s\" names the child \"t\", which is not in this file"},
        {"a switch that is its own child",
         topology("  tree: {switches: [{switch: s, children: s}]}\n"), "which is itself"},
        {"a circle",
         topology("  tree:\n    switches:\n      - {switch: a, children: b}\n"
                  "      - {switch: b, children: a}\n"),
         "in or above a circle"},
        {"nodes as a list", topology("  tree: {switches: [{switch: s, nodes: [n1, n2]}]}\n"),
         "topology.yaml:2:33: \"nodes\" is to be a word, not a list"},
        {"a bad host list", topology("  tree: {switches: [{switch: s, nodes: 'n[1-'}]}\n"),
         "topology.yaml:2:33: nodes: bracket"},
        {"a backwards range", topology("  tree: {switches: [{switch: s, nodes: 'n[4-1]'}]}\n"),
         "\"4-1\" is not a number or a range"},
        {"a block twice",
         topology("  block:\n    blocks:\n      - {block: b, nodes: n1}\n"
                  "      - {block: b, nodes: n2}\n"),
         "topology.yaml:5:10: \"b\" is defined twice"},
        {"a size that is no number", topology("  block: {block_sizes: [four], blocks: []}\n"),
         "topology.yaml:2:25: block_sizes: \"four\" is not the first size times"},
        {"sizes that shrink",
         topology("  block:\n    block_sizes:\n      - 4\n      - 2\n    blocks: []\n"),
         "topology.yaml:5:9: block_sizes: \"2\" is not the first size times"},
        {"sizes as a map", topology("  block: {block_sizes: {a: 1}, blocks: []}\n"),
         "\"block_sizes\" is to be a list of numbers, not a map"},
        {"rings as a word", topology("  ring: {rings: r1}\n"),
         "\"rings\" is to be a list, not the word"},
        {"a ring without a name", topology("  ring: {rings: [{nodes: n1}]}\n"),
         "ring without a name"},
        {"a torus of more places than nodes",
         topology("  torus3d:\n    toruses:\n      - {name: p, nodes: 'n[1-4]', dims: {x: 2, y: 2, "
                  "z: 2}}\n"),
         "topology.yaml:4:9: torus \"p\" has 8 places and 4 nodes"},
        {"a torus without places", topology("  torus3d: {toruses: [{name: p, nodes: n1}]}\n"),
         "\"dims\" is to be a map of x, y and z"},
        {"a torus without a height",
         topology("  torus3d: {toruses: [{name: p, dims: {x: 1, y: 0}}]}\n"),
         "topology.yaml:2:46: \"y\" is to be a number above zero"},
        {"an alias",
         topology("  tree: &t {switches: [{switch: s, nodes: n1}]}\n") +
             "- topology: y\n  tree: *t\n",
         "topology.yaml:4:9: an alias: Slurm takes none, write the value again"},
        {"an unclosed bracket", topology("  tree: [\n"), "this is no YAML"},
        {"wrong indentation", "- topology: x\n  flat: true\n tree: x\n",
         "topology.yaml:3:2: this is no YAML"},
        {"a tab for indentation", topology("\ttree:\n"), "this is no YAML"},
        {"a key that is a list", "[a]: b\n", "topology.yaml:1:1: a key is to be a word"},
        {"deeper than any topology", std::string(20, '[') + std::string(20, ']'),
         "topology.yaml:1:17: nested deeper than any topology"},
    }));
    CAPTURE(c.why);

    const auto fabrics = fabric::parse_topology_yaml(c.text, "topology.yaml");

    REQUIRE_FALSE(fabrics);
    CHECK(fabrics.error().code == Errc::bad_input);
    CHECK_THAT(to_string(fabrics.error()), ContainsSubstring(c.expected));
}

TEST_CASE("hostile topology.yaml files are refused, quickly", "[topology][yaml][hostile]") {
    const auto read = [](const std::string& text) {
        return fabric::parse_topology_yaml(text, "t").has_value();
    };
    const std::size_t size = std::size_t{1} << 20U;
    CHECK_FALSE(read(std::string(size, '[')));
    CHECK_FALSE(read(std::string(size, '{')));
    CHECK_FALSE(read(std::string(size, '?')));
    CHECK_FALSE(read(std::string(size, '\0')));
    CHECK_FALSE(read(std::string(size, '\xff')));
    CHECK_FALSE(read(std::string(std::size_t{16} << 20U, ' ')));
    std::string nested;
    for (std::size_t i = 0; i < size / 2; ++i) {
        nested += "- ";
    }
    CHECK_FALSE(read(nested));
    std::string many = "[";
    for (std::size_t i = 0; i < size; ++i) {
        many += "a,";
    }
    CHECK_FALSE(read(many + "a]"));
    CHECK_FALSE(read(topology("  tree: {switches: [{switch: s, nodes: 'n[0-99999999]'}]}\n")));
    // Each name stands for ten of the one before.
    std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
    for (char name = 'b'; name < 'k'; ++name) {
        bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", name,
                            static_cast<char>(name - 1));
    }
    CHECK_FALSE(read(bomb));
}
