// PCI addresses, and what hwloc's XML makes a Node of.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "node/from_hwloc.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::Errc;
using railhead::to_string;
using railhead::test::cpus;
using railhead::test::recorded_node;

// ---- PCI addresses ------------------------------------------------------------------------

TEST_CASE("PCI addresses are read in the forms that people and drivers write", "[node]") {
    const auto [text, expected] = GENERATE(table<std::string, std::string>({
        {"0000:17:00.0", "0000:17:00.0"},
        {"17:00.0", "0000:17:00.0"},
        {"00000000:C1:1F.7", "0000:c1:1f.7"},
        {"10000:01:00.0", "10000:01:00.0"},
    }));
    CAPTURE(text);
    const auto address = node::parse_pci_address(text);
    REQUIRE(address);
    CHECK(to_string(*address) == expected);
}

TEST_CASE("what is no PCI address is refused", "[node]") {
    const auto* const text =
        GENERATE("", "17", "17:00", "0000:17:00.8", "0000:17:20.0", "0000:17:00.0x", "x:17:00.0",
                 "0:0:17:00.0", "123456789:17:00.0", ":00.0", "17:.0");
    CAPTURE(text);
    CHECK_FALSE(node::parse_pci_address(text));
}

// ---- hwloc --------------------------------------------------------------------------------

TEST_CASE("a DGX H100 is read whole", "[node][hwloc]") {
    const auto dgx = recorded_node("dgx-h100.xml");

    CHECK(dgx.numa.size() == 2);
    CHECK(dgx.cores.size() == 64);
    CHECK(dgx.allowed == cpus("0-63"));
    REQUIRE(dgx.gpus.size() == 8);
    REQUIRE(dgx.nics.size() == 12);

    const auto& gpu = dgx.gpus[4];
    CHECK(gpu.index == 4);
    CHECK(to_string(gpu.pci) == "0000:9d:00.0");
    CHECK(gpu.vendor == "nvidia");
    CHECK(gpu.model == "NVIDIA H100 80GB HBM3");
    CHECK(gpu.uuid == "GPU-00000000-0000-0000-0000-000000000004");
    CHECK(gpu.numa == 1U);
    CHECK(gpu.cpus == cpus("32-63"));

    const auto& rail = dgx.nics[0];
    CHECK(rail.name == "mlx5_0");
    CHECK(rail.netdevs == std::vector<std::string>{"ibp24s0"});
    CHECK(rail.gbit_per_s == 400.0);
    CHECK(rail.link_layer == node::LinkLayer::infiniband);
    CHECK(rail.active);
    CHECK(dgx.nics[1].name == "mlx5_1");
    CHECK(dgx.nics[1].link_layer == node::LinkLayer::ethernet);
}

TEST_CASE("a BMC's screen and an NVSwitch are no GPUs", "[node][hwloc]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    const auto is = [](const char* address) {
        return [address](const node::Gpu& gpu) { return to_string(gpu.pci) == address; };
    };
    CHECK(std::ranges::none_of(dgx.gpus, is("0000:03:00.0")));
    CHECK(std::ranges::none_of(dgx.gpus, is("0000:07:00.0")));
}

TEST_CASE("distances follow the PCI tree", "[node][hwloc]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    const auto path = [&](std::size_t gpu, const char* nic) {
        const auto found = std::ranges::find(dgx.nics, nic, &node::Nic::name);
        return dgx.paths.at(gpu).at(static_cast<std::size_t>(found - dgx.nics.begin()));
    };
    CHECK(path(0, "mlx5_0") == Path::pxb);   // a second switch above the GPU
    CHECK(path(0, "mlx5_3") == Path::node);  // another host bridge of the socket
    CHECK(path(0, "mlx5_6") == Path::sys);   // the other socket
    CHECK(recorded_node("two-cpu-8gpu.xml").paths[0][1] == Path::pix);  // one switch
}

TEST_CASE("CPUs that the cgroup forbids stay in the picture but are not allowed", "[node][hwloc]") {
    auto xml = railhead::test::read("nodes/two-cpu-8gpu.xml");
    const std::string all = "allowed_cpuset=\"0x00000003\"";
    xml.replace(xml.find(all), all.size(), "allowed_cpuset=\"0x00000001\"");

    const auto node = node::parse_hwloc_xml(xml, "restricted.xml");

    REQUIRE(node);
    CHECK(node->allowed == cpus("0"));
    CHECK(node->cores.size() == 2);
    CHECK(node->gpus[7].cpus == cpus("1"));
}

TEST_CASE("the memory of a GPU is a NUMA node that the GPU does not hang on", "[node][hwloc]") {
    const auto node = recorded_node("memory-only-numa.xml");
    REQUIRE(node.numa.size() == 2);
    CHECK(node.find_numa(1)->cpus.empty());
    REQUIRE(node.gpus.size() == 1);
    CHECK(node.gpus[0].numa == 0U);
    CHECK(node.gpus[0].cpus == cpus("0-1"));
}

TEST_CASE("comments do not disturb, wherever they stand", "[node][hwloc]") {
    const auto xml = railhead::test::read("nodes/two-cpu-8gpu.xml");
    auto commented = "<!-- licence -->\n\n" + xml;
    commented.insert(commented.find("<object"), "<!-- <topology> -->");
    const auto node = node::parse_hwloc_xml(commented, "commented.xml");
    REQUIRE(node);
    CHECK(node->gpus.size() == 8);
}

TEST_CASE("what hwloc cannot read is an error that names the file", "[node][hwloc][errors]") {
    const auto xml = railhead::test::read("nodes/two-cpu-8gpu.xml");
    const auto [why, text] = GENERATE_COPY(table<std::string, std::string>({
        {"empty", ""},
        {"no XML", "GPU0 X PIX"},
        {"another XML", "<?xml version=\"1.0\"?>\n<html></html>\n"},
        {"unfinished comment", "<!-- " + xml},
        {"binary", std::string("\x7f"
                               "ELF\0\1\2",
                               7)},
    }));
    CAPTURE(why);
    const auto node = node::parse_hwloc_xml(text, "bad.xml");
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::bad_input);
    CHECK(to_string(node.error()) == "\"bad.xml\" is no topology in hwloc's XML");
}

TEST_CASE("hwloc's XML that is cut off says so", "[node][hwloc][errors]") {
    const auto xml = railhead::test::read("nodes/two-cpu-8gpu.xml");
    for (const auto size :
         {xml.size() / 2, xml.rfind("</topology>"), xml.rfind("</topology>") + 5}) {
        CAPTURE(size);
        const auto node = node::parse_hwloc_xml(xml.substr(0, size), "bad.xml");
        REQUIRE_FALSE(node);
        CHECK(to_string(node.error()) ==
              "\"bad.xml\" is no topology in hwloc's XML: cut off or "
              "damaged, </topology> is missing");
    }
}

TEST_CASE("a NIC whose name NCCL could not be told is left out", "[node][hwloc][errors]") {
    const auto name = GENERATE(std::string{"mlx5_0,mlx5_1"}, std::string{"mlx 5"},
                               std::string{"mlx5_0:1"}, std::string(65, 'a'));
    auto xml = railhead::test::read("nodes/two-cpu-8gpu.xml");
    const std::string good = "name=\"mlx5_0\"";
    xml.replace(xml.find(good), good.size(), "name=\"" + name + "\"");
    const auto whole = recorded_node("two-cpu-8gpu.xml");

    const auto node = node::parse_hwloc_xml(xml, "odd.xml");

    REQUIRE(node);
    CHECK(node->nics.size() == whole.nics.size() - 1);
    CHECK(node->paths[0].size() == node->nics.size());
    REQUIRE(node->warnings.size() == 1);
    CHECK_THAT(to_string(node->warnings[0]), ContainsSubstring("left out the NIC at 0000:") &&
                                                 ContainsSubstring("'" + name + "' is no name"));
}

TEST_CASE("XML of a later hwloc is refused with a way out", "[node][hwloc][errors]") {
    const auto node = node::parse_hwloc_xml("<topology version=\"3.0\"></topology>", "new.xml");
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::unsupported);
    CHECK_THAT(node.error().message, ContainsSubstring("lstopo --export-xml-flags v2"));
}
