// A Node's way through the probe's pipe.
#include <cstddef>
#include <string>

#include "node/wire.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::Errc;
using railhead::to_string;
using railhead::test::recorded_node;

TEST_CASE("a node survives the way through the pipe", "[node][wire]") {
    const auto* const file = GENERATE("dgx-h100.xml", "two-cpu-8gpu.xml", "memory-only-numa.xml");
    const auto text = node::to_wire(recorded_node(file));
    const auto again = node::from_wire(text);
    REQUIRE(again);
    CHECK(node::to_wire(*again) == text);
}

TEST_CASE("every fact of a node survives the way through the pipe", "[node][wire]") {
    auto node = recorded_node("two-cpu-8gpu.xml");
    node.gpus[1].pci.reset();
    node.nics[0].pci.reset();
    node.nics[0].virtual_function = true;
    node.nics[0].bond = "bond0";
    node.nics[0].rdma = false;
    node.numa[0].socket = 3;
    node.links.assign(node.gpus.size(), {node.gpus.size(), {Path::node, 0}});
    node.links[0][1] = {Path::sys, 18};
    node.warnings = {{Errc::unsupported, "odd", {node.source, 3, 7}}};
    node.incomplete = "no NIC legend";
    const auto again = node::from_wire(node::to_wire(node));
    REQUIRE(again);
    CHECK_FALSE(again->gpus[1].pci);
    CHECK_FALSE(again->nics[0].pci);
    CHECK(again->nics[0].virtual_function);
    CHECK(again->nics[0].bond == "bond0");
    CHECK_FALSE(again->nics[0].rdma);
    CHECK(again->nics[1].rdma);
    CHECK(again->numa[0].socket == 3U);
    CHECK(again->links[0][1].direct == 18);
    CHECK(again->links[0][1].path == Path::sys);
    CHECK(again->links[1][0].path == Path::node);
    REQUIRE(again->warnings.size() == 1);
    CHECK(again->warnings[0].code == Errc::unsupported);
    CHECK(to_string(again->warnings[0]) == node.source + ":3:7: odd");
    CHECK(again->incomplete == "no NIC legend");
    CHECK(node::to_wire(*again) == node::to_wire(node));
}

TEST_CASE("text that would break a line is made harmless", "[node][wire]") {
    auto node = recorded_node("two-cpu-8gpu.xml");
    node.gpus[0].model = "tab\there\nand there";
    const auto again = node::from_wire(node::to_wire(node));
    REQUIRE(again);
    CHECK(again->gpus[0].model == "tab here?and there");
}

TEST_CASE("a wire with anything missing or changed is refused", "[node][wire][errors]") {
    const auto text = node::to_wire(recorded_node("two-cpu-8gpu.xml"));
    const auto [why, from, to] = GENERATE(table<std::string, std::string, std::string>({
        {"version", "railhead-node\t3", "railhead-node\t1"},
        {"path", "\tPIX", "\tNEAR"},
        {"too few paths", "path\tPIX\t", "path\t"},
        {"address", "0000:13:00.0", "13"},
        {"CPU list", "allowed\t0-1", "allowed\t1-0"},
        {"unknown line", "core\t", "kern\t"},
        {"link layer", "\t400\t", "\t400\tx"},
        {"a rate that is no number", "\t400\t", "\tnan\t"},
        {"a NIC behind the paths", "end\n", "nic\tmlx5_9\t\t\t1\t\t\t0\t\t1\t\t0\t\nend\n"},
        {"links of some GPUs only", "end\n", "link\tSYS\nend\n"},
    }));
    CAPTURE(why);
    auto changed = text;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    CHECK_FALSE(node::from_wire(changed));
}

TEST_CASE("lines of a wire that begin with # are comments", "[node][wire]") {
    auto text = node::to_wire(recorded_node("two-cpu-8gpu.xml"));
    const auto plain = text;
    text.insert(text.find("source"), "# left out: much\n");
    const auto node = node::from_wire(text);
    REQUIRE(node);
    CHECK(node::to_wire(*node) == plain);
}

TEST_CASE("a wire cut anywhere is refused", "[node][wire][errors]") {
    const auto text = node::to_wire(recorded_node("memory-only-numa.xml"));
    for (std::size_t length = 0; length < text.size(); ++length) {
        CAPTURE(length);
        CHECK_FALSE(node::from_wire(text.substr(0, length)));
    }
}
