// The order of ranks: neighbours on the fabric together.
#include "fabric/order.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/hostlist.hpp"
#include "report/hostfile.hpp"
#include "support/catch.hpp"

using namespace railhead;
using namespace railhead::fabric;

namespace {

std::string names_of(const std::vector<Place>& places) {
    std::vector<std::string> names;
    for (const auto& place : places) {
        names.push_back(place.known ? place.node : "(" + place.node + ")");
    }
    return fmt::format("{}", fmt::join(names, " "));
}

std::string order_on(const std::string& topology, const std::string& nodes) {
    const auto fabric = parse_topology_conf(topology, "topology.conf");
    REQUIRE(fabric);
    const auto names = job::expand_hostlist(nodes);
    REQUIRE(names);
    return names_of(rank_order(places_in(*fabric, *names)));
}

std::string order_by(const std::string& addresses) {
    auto places = parse_addresses(addresses, "addresses");
    REQUIRE(places);
    return names_of(rank_order(std::move(*places)));
}

const std::string two_leaves =
    "SwitchName=a Nodes=n[1,3,5,7]\nSwitchName=b Nodes=n[2,4,6,8]\nSwitchName=top Switches=a,b\n";
const std::string two_pods =
    "SwitchName=a Nodes=n[1,5]\nSwitchName=b Nodes=n[2,6]\nSwitchName=c Nodes=n[3,7]\nSwitchName=d "
    "Nodes=n[4,8]\nSwitchName=pod1 Switches=a,c\nSwitchName=pod2 Switches=b,d\nSwitchName=top "
    "Switches=pod[1-2]\n";

}  // namespace

TEST_CASE("neighbours on the fabric stand next to each other", "[order]") {
    struct Case {
        std::string why, topology, nodes, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"leaves that the names cross", two_leaves, "n[1-8]", "n1 n3 n5 n7 n2 n4 n6 n8"},
        {"the leaf of the first node comes first", two_leaves, "n4,n1,n2,n3", "n4 n2 n1 n3"},
        {"within a leaf the order given stays", two_leaves, "n7,n1,n5", "n7 n1 n5"},
        {"leaves of one pod stand together", two_pods, "n[1-8]", "n1 n5 n3 n7 n2 n6 n4 n8"},
        {"blocks", "BlockName=x Nodes=n[1,3]\nBlockName=y Nodes=n[2,4]\nBlockSizes=2\n", "n[1-4]",
         "n1 n3 n2 n4"},
        {"blocks that one larger block holds",
         "BlockName=w Nodes=n1\nBlockName=x Nodes=n3\nBlockName=y Nodes=n2\nBlockName=z Nodes=n4\n"
         "BlockSizes=1,2\n",
         "n[1-4]", "n1 n3 n2 n4"},
        {"two networks without a path", "SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\n",
         "n[1-4]", "n1 n3 n2 n4"},
        {"who is on no leaf comes last", two_leaves, "m1,n2,n1,m2,n4", "n2 n4 n1 (m1) (m2)"},
        {"one node", two_leaves, "n8", "n8"},
    }));
    CAPTURE(c.why);

    CHECK(order_on(c.topology, c.nodes) == c.expected);
}

TEST_CASE("the addresses that Slurm gives each node say the same", "[order]") {
    struct Case {
        std::string why, addresses, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"a tree, with its pattern",
         "n1 top.pod1.a.n1 switch.switch.switch.node\n"
         "n2 top.pod2.b.n2 switch.switch.switch.node\n"
         "n3 top.pod1.c.n3 switch.switch.switch.node\n"
         "n5 top.pod1.a.n5 switch.switch.switch.node\n",
         "n1 n5 n3 n2"},
        {"without a pattern", "n1 s0.a.n1\nn2 s0.b.n2\nn3 s0.a.n3\n", "n1 n3 n2"},
        {"several switches side by side", "n1 s[0-1].a.n1\nn2 s[0-1].b.n2\nn3 s[0-1].a.n3\n", "n1 n3 n2"},
        {"blocks", "n1 b1.n1 block.node\nn2 b2.n2 block.node\nn3 b1.n3 block.node\n", "n1 n3 n2"},
        {"a flat fabric keeps the order", "n2 n2 node\nn1 n1 node\n", "n2 n1"},
        {"each task of a node says it", "n1 a.n1\nn1 a.n1\nn2 b.n2\nn3 a.n3\n", "n1 n3 n2"},
        {"leaves of equal name below unlike pods", "n1 p.a.n1\nn2 q.a.n2\nn3 p.a.n3\n", "n1 n3 n2"},
        {"names with dots", "n1.x.org s.a.n1.x.org\nn2.x.org s.b.n2.x.org\nn3.x.org s.a.n3.x.org\n",
         "n1.x.org n3.x.org n2.x.org"},
        {"switches with dots", "n1 eth.unknown.n1\nn2 ib.unknown.n2\nn3 eth.unknown.n3\n", "n1 n3 n2"},
        {"a node without address comes last", "n1\n\nn2 a.n2\n", "n2 (n1)"},
        {"a line of Windows", "n1 a.n1\r\nn2 b.n2\r\nn3 a.n3\r\n", "n1 n3 n2"},
    }));
    CAPTURE(c.why);

    CHECK(order_by(c.addresses) == c.expected);
}

TEST_CASE("an address that is none is told with its line", "[order][errors]") {
    struct Case {
        std::string why, addresses, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"too many words", "n1 a.n1 switch.node x\n", "addresses:1:1: expected \"node address [pattern]\""},
        {"another node's", "n1 a.n1\nn2 a.n3\n",
         "addresses:2:1: the address \"a.n3\" does not end with its node, \".n2\""},
        {"a node that only ends alike", "n1 a.xn1\n", "does not end with its node"},
        {"no switch in front", "n1 .n1x\n", "does not end with its node"},
        {"two addresses", "n1 a.n1\nn1 b.n1\n", "addresses:2:1: node \"n1\" has another address above"},
        {"a pattern of another length", "n1 a.n1 switch.switch.node\n",
         "addresses:1:1: the pattern \"switch.switch.node\" is not that of the address \"a.n1\""},
    }));
    CAPTURE(c.why);

    const auto places = parse_addresses(c.addresses, "addresses");

    REQUIRE_FALSE(places);
    CHECK_THAT(to_string(places.error()), ContainsSubstring(c.expected));
}

TEST_CASE("ten thousand nodes are ordered at once", "[order]") {
    std::string addresses;
    for (int i = 0; i < 10240; ++i) {
        addresses += fmt::format("n{} top.pod{}.leaf{}.n{}\n", i, i % 8, i % 640, i);
    }
    auto places = parse_addresses(addresses, "addresses");
    REQUIRE(places);
    const auto ordered = rank_order(std::move(*places));
    REQUIRE(ordered.size() == 10240);
    CHECK(ordered[0].node == "n0");
    CHECK(ordered[1].node == "n640");
    CHECK(ordered[16].node == "n8");
}

TEST_CASE("hosts are written as those want them who start ranks", "[order][hostfile]") {
    using report::HostFormat;
    const std::vector<std::string> hosts{"n1", "n3", "n2"};
    CHECK(report::hosts_text(hosts, HostFormat::hostfile, 0) == "n1\nn3\nn2\n");
    CHECK(report::hosts_text(hosts, HostFormat::hostfile, 8) == "n1 slots=8\nn3 slots=8\nn2 slots=8\n");
    CHECK(report::hosts_text(hosts, HostFormat::mpich, 0) == "n1\nn3\nn2\n");
    CHECK(report::hosts_text(hosts, HostFormat::mpich, 8) == "n1:8\nn3:8\nn2:8\n");
    CHECK(report::hosts_text(hosts, HostFormat::slurm, 0) == "n1\nn3\nn2\n");
    CHECK(report::hosts_text(hosts, HostFormat::slurm, 2) == "n1\nn1\nn3\nn3\nn2\nn2\n");
    CHECK(report::hosts_text(hosts, HostFormat::list, 8) == "n1,n3,n2\n");
    CHECK(report::hosts_text({}, HostFormat::list, 0).empty());
}
