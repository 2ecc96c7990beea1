#include "rails/fingerprint.hpp"

#include "base/text.hpp"
#include "report/rail_compare.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using node::Path;
using railhead::report::compare_rails;
using railhead::test::node_with;
using rails::RailIdentity;

namespace {

constexpr auto pix = Path::pix;
constexpr auto sys = Path::sys;

RailIdentity identity(const node::Node& node, const std::string& name = "") {
    return rails::identify_rails(node, rails::plan_rails(node), name);
}

/// Two GPUs with a NIC each.
node::Node pair_node() {
    return node_with({{pix, sys}, {sys, pix}});
}

}  // namespace

TEST_CASE("FNV-1a gives the values of its authors", "[rails][fingerprint]") {
    CHECK(railhead::fnv1a("") == 0xcbf29ce484222325U);
    CHECK(railhead::fnv1a("a") == 0xaf63dc4c8601ec8cU);
    CHECK(railhead::fnv1a("foobar") == 0x85944171f73967e8U);
}

TEST_CASE("the shape says what other nodes must have too", "[rails][fingerprint]") {
    CHECK(identity(pair_node()).shape ==
          "rails=2 device=15b3:1021 rate=400 layer=InfiniBand gpus=PIX:0/PIX:1");
    CHECK(identity(node_with({{}, {}})).shape == "rails=0 device=? rate=? layer=? gpus=-/-");

    auto mixed = node_with({{pix, pix}});
    mixed.nics[1].kind = "15b3:101d";
    CHECK(identity(mixed).shape ==
          "rails=2 device=15b3:1021,15b3:101d rate=400 layer=InfiniBand gpus=PIX:0+1");
}

TEST_CASE("a fingerprint changes with the rails, and with nothing else", "[rails][fingerprint]") {
    struct Case {
        std::string why;
        void (*change)(node::Node&);
        bool same;
    };
    const auto c = GENERATE(values<Case>({
        {"names", [](node::Node& node) { node.nics[0].name = "ibp24s0"; }, true},
        {"PCI addresses", [](node::Node& node) { node.nics[0].pci->bus = 99; }, true},
        {"a job's CPUs", [](node::Node& node) { node.allowed = railhead::test::cpus("0"); }, true},
        {"a cable that is out today",
         [](node::Node& node) {
             node.nics[1].active = false;
             node.nics[1].gbit_per_s.reset();
         },
         true},
        {"a NIC that is no rail",
         [](node::Node& node) {
             node.nics.push_back(node.nics[0]);
             node.nics.back().rdma = false;
             for (auto& row : node.paths) {
                 row.push_back(sys);
             }
         },
         true},
        {"order", [](node::Node& node) { std::swap(node.paths[0], node.paths[1]); }, false},
        {"path", [](node::Node& node) { node.paths[0][0] = Path::pxb; }, false},
        {"rate",
         [](node::Node& node) {
             node.nics[0].gbit_per_s = 200;
             node.nics[1].gbit_per_s = 200;
         },
         false},
        {"device", [](node::Node& node) { node.nics[1].kind = "15b3:1023"; }, false},
        {"layer",
         [](node::Node& node) {
             node.nics[0].link_layer = node::LinkLayer::ethernet;
             node.nics[1].link_layer = node::LinkLayer::ethernet;
         },
         false},
        {"a rail gone",
         [](node::Node& node) {
             node.nics.pop_back();
             node.paths[0].pop_back();
             node.paths[1].pop_back();
         },
         false},
    }));
    CAPTURE(c.why);
    auto node = pair_node();
    c.change(node);
    CHECK((identity(node).fingerprint == identity(pair_node()).fingerprint) == c.same);
}

TEST_CASE("a line is read as it was written, with or without a label", "[rails][fingerprint]") {
    const auto [label, name, expected] = GENERATE(table<std::string, std::string, std::string>({
        {"", "gpu01", "gpu01"},
        {"", "", ""},
        {"12: ", "", "12"},
        {" 3: ", "", "3"},
        {"rack1-gpu7: ", "", "rack1-gpu7"},
        {"12: ", "gpu01", "gpu01"},  // the line's own word counts
    }));
    CAPTURE(label, name);
    const auto written = identity(pair_node(), name);
    const auto read = rails::parse_identity(label + rails::to_line(written));
    REQUIRE(read);
    CHECK(read->fingerprint == written.fingerprint);
    CHECK(read->list == "mlx5_0:1,mlx5_1:1");
    CHECK(read->shape == written.shape);
    CHECK(read->node == expected);
}

TEST_CASE("a node without rails has a line too", "[rails][fingerprint]") {
    const auto read = rails::parse_identity(rails::to_line(identity(node_with({{}}), "login1")));
    REQUIRE(read);
    CHECK(read->list.empty());
    CHECK(read->node == "login1");
}

TEST_CASE("a damaged line is refused", "[rails][fingerprint][errors]") {
    const auto line = rails::to_line(identity(pair_node(), "gpu01"));
    auto changed = line;
    changed.replace(changed.find("rate=400"), 8, "rate=200");
    for (const auto& bad : {std::string{}, std::string{"srun: error: gpu01"}, changed,
                            line.substr(1), line.substr(0, line.find("rails="))}) {
        CAPTURE(bad);
        CHECK_FALSE(rails::parse_identity(bad));
    }
}

// ---- comparing ----------------------------------------------------------------------------

TEST_CASE("nodes with one fingerprint are the same", "[rails][compare]") {
    const auto same = compare_rails({identity(pair_node(), "n2"), identity(pair_node(), "n1")});
    CHECK(same.is_same);
    CHECK(same.text == "2 nodes, the same rails\n\n" + identity(pair_node()).fingerprint +
                           "  2 nodes: n[1-2]\n    2 rails of 400 Gb/s InfiniBand (15b3:1021)\n");
}

TEST_CASE("the majority comes first, and of each other node what it differs in",
          "[rails][compare]") {
    struct Case {
        std::string why;
        void (*change)(node::Node&);
        std::string said;
    };
    const auto c = GENERATE(values<Case>({
        {"a missing rail",
         [](node::Node& node) {
             node.nics.pop_back();
             node.paths[0].pop_back();
             node.paths[1].pop_back();
         },
         "    1 rail of 400 Gb/s InfiniBand (15b3:1021)\n    rails: 1, most have 2\n"
         "    GPU 1: path and rail SYS:0, most have PIX:1\n    missing by name: mlx5_1:1\n"},
        {"another rate",
         [](node::Node& node) {
             node.nics[0].gbit_per_s = 200;
             node.nics[1].gbit_per_s = 200;
         },
         "    rate: 200, most have 400\n"},
        {"another order", [](node::Node& node) { std::swap(node.paths[0], node.paths[1]); },
         "    GPU 0: path and rail PIX:1, most have PIX:0\n"
         "    GPU 1: path and rail PIX:0, most have PIX:1\n"},
    }));
    CAPTURE(c.why);
    auto odd = pair_node();
    c.change(odd);
    const auto found = compare_rails(
        {identity(odd, "n3"), identity(pair_node(), "n1"), identity(pair_node(), "n2")});
    CHECK_FALSE(found.is_same);
    CHECK(found.text.starts_with("3 nodes, 2 kinds of rails\n"));
    CHECK_THAT(found.text, ContainsSubstring(c.said));
    CHECK(found.text.find("n[1-2]") < found.text.find("1 node: n3"));
}

TEST_CASE("other names of the same rails are told, and no difference", "[rails][compare]") {
    auto renamed = pair_node();
    renamed.nics[0].name = "mlx5_2";
    renamed.nics[1].name = "mlx5_3";
    const auto found = compare_rails({identity(pair_node(), "n1"), identity(renamed, "n2")});
    CHECK(found.is_same);
    CHECK_THAT(found.text, ContainsSubstring("n1: mlx5_0:1,mlx5_1:1\n"));
    CHECK_THAT(found.text, ContainsSubstring("n2: mlx5_2:1,mlx5_3:1\n"));
    CHECK_THAT(found.text, ContainsSubstring("NCCL_IB_HCA differs"));
}

TEST_CASE("a node that spoke twice counts once", "[rails][compare]") {
    const auto one = identity(pair_node(), "n1");
    CHECK(compare_rails({one, one}).text.starts_with("1 node, the same rails\n"));
}
