// One function for every kind of file; what `railhead node record` keeps.
#include <string>

#include "node/neutral.hpp"
#include "node/probe.hpp"
#include "node/read_node.hpp"
#include "node/wire.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
using node::SourceKind;
using railhead::Errc;
using railhead::test::read;
using railhead::test::recorded_node;

TEST_CASE("what a file is shows in its content", "[node][source]") {
    const auto [why, text, kind] = GENERATE(table<std::string, std::string, SourceKind>({
        {"hwloc", "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology>",
         SourceKind::hwloc_xml},
        {"a comment first", "<!-- <system> -->\n<topology version=\"2.0\">", SourceKind::hwloc_xml},
        {"a byte order mark", "\xef\xbb\xbf<system version=\"1\">", SourceKind::nccl_xml},
        {"NCCL", "<system version=\"1\">\n  <cpu numaid=\"0\"/>", SourceKind::nccl_xml},
        {"NCCL's rings", "<graphs version=\"1\">", SourceKind::nccl_graph},
        {"a matrix", "\tGPU0\tNIC0\nGPU0\t X \tPIX\n", SourceKind::topo_m},
        {"its last lines", "NIC3\tSYS\tSYS\n", SourceKind::topo_m},
        {"a capture", "railhead-node\t3\nend\n", SourceKind::capture},
        {"Ascend", "     NPU0       NPU1\nNPU0   X   HCCS\n", SourceKind::foreign},
        {"nothing", "", SourceKind::unknown},
        {"other XML", "<html>", SourceKind::unknown},
        {"a comment without end", "<!-- <topology>", SourceKind::unknown},
        {"prose", "the GPUs are slow\n", SourceKind::unknown},
    }));
    CAPTURE(why);
    CHECK(node::find_source_kind(text) == kind);
}

TEST_CASE("every kind becomes a node", "[node][source]") {
    const auto hwloc = node::parse_node(read("nodes/dgx-h100.xml"), "dgx.xml");
    REQUIRE(hwloc);
    CHECK(hwloc->source == "dgx.xml");
    CHECK(hwloc->gpus.size() == 8);

    const auto matrix = node::parse_node(read("topo-m/whole.txt"), "whole.txt");
    REQUIRE(matrix);
    CHECK(matrix->gpus.size() == 2);

    const auto capture = node::parse_node(node::to_wire(*hwloc), "dgx.node");
    REQUIRE(capture);
    CHECK(capture->source == "dgx.node");
    CHECK(capture->paths == hwloc->paths);
}

TEST_CASE("what is no node is refused with what would be", "[node][source][errors]") {
    const auto [text, code, part] = GENERATE(table<std::string, Errc, std::string>({
        {"<graphs version=\"1\"/>", Errc::unsupported, "tells of rings and not of a node"},
        {"NPU0\t X \tHCCS\n", Errc::unsupported, "is a table of npu-smi"},
        {"\n", Errc::bad_input, "\"f\" is empty; railhead reads hwloc's XML (lstopo --of xml)"},
        {"prose", Errc::bad_input, "tells of no node in a known form; railhead reads"},
        {"railhead-node\t1\nend\n", Errc::unsupported, "recorded in version \"1\""},
    }));
    CAPTURE(text);
    const auto node = node::parse_node(text, "f");
    REQUIRE_FALSE(node);
    CHECK(node.error().code == code);
    CHECK_THAT(node.error().message, ContainsSubstring(part));
}

TEST_CASE("a damaged capture names file and line", "[node][source][errors]") {
    const auto node = node::parse_node("railhead-node\t3\nsource\tx\nmagic\nend\n", "my.node");
    REQUIRE_FALSE(node);
    CHECK(to_string(node.error()) == "my.node:3:1: not a node that Railhead wrote");
}

TEST_CASE("a file that is said to be of a kind is read as that", "[node][source][errors]") {
    const auto node = node::parse_node(read("nodes/dgx-h100.xml"), "dgx.xml", SourceKind::topo_m);
    REQUIRE_FALSE(node);
    CHECK_THAT(node.error().message, ContainsSubstring("no line of column names"));
}

TEST_CASE("the probe reads any kind of file, and text that is there already", "[node][probe]") {
    const auto file = std::string{RAILHEAD_TEST_DATA "/topo-m/cpu-cell-damaged.txt"};
    const auto node = node::probe({.file = file});
    REQUIRE(node);
    CHECK(node->nics.at(1).name == "mlx5_3");
    REQUIRE(node->warnings.size() == 1);
    CHECK(to_string(node->warnings[0]).starts_with(file + ":2:22: CPU affinity"));

    const auto read = node::probe({.file = "standard input", .text = "\tGPU0\nGPU0\tPIX\n"});
    REQUIRE_FALSE(read);
    CHECK(to_string(read.error()).starts_with("standard input:2:1: row \"GPU0\" has no X"));
}

// ---- captures -----------------------------------------------------------------------------

TEST_CASE("a capture tells no machine from another", "[node][record]") {
    auto dgx = recorded_node("dgx-h100.xml");
    dgx.gpus[0].uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
    dgx.gpus[1].uuid = "8932f937d72c4106";
    dgx.nics[0].netdevs = {"enx0c42a1b2c3d4", "ib0"};
    dgx.nics[1].netdevs = {"enx0c42a1b2c3d5"};
    dgx.nics[1].name = "rocex0c42a10300b2c3d4";
    dgx.nics[2].bond = "enx0c42a1b2c3d4";
    dgx.nics[2].name = "mlx5_2";
    dgx.warnings = {{Errc::bad_input, "odd", {"/home/me/n01.txt", 3, 7}}};

    const auto neutral = node::make_neutral(dgx);
    const auto text = node::capture_text(neutral);

    CHECK_THAT(text, !ContainsSubstring("8932f937"));
    CHECK_THAT(text, !ContainsSubstring("0c42a1"));
    CHECK_THAT(text, !ContainsSubstring("/home"));
    CHECK_THAT(text, !ContainsSubstring("dgx-h100.xml"));
    const auto again = node::parse_node(text, "dgx.node");
    REQUIRE(again);
    CHECK(again->gpus[0].uuid == "GPU-00000000-0000-0000-0000-000000000000");
    CHECK(again->gpus[1].uuid == "0000000000000001");
    CHECK(again->gpus[7].uuid == "GPU-00000000-0000-0000-0000-000000000007");
    CHECK(again->nics[0].netdevs == std::vector<std::string>{"enx000000000000", "ib0"});
    CHECK(again->nics[1].netdevs == std::vector<std::string>{"enx000000000002"});
    CHECK(again->nics[1].name == "rocex0000000000000001");
    CHECK(again->nics[2].bond == "enx000000000000");  // the same name stays the same
    CHECK(again->nics[2].name == "mlx5_2");
    CHECK(again->paths == dgx.paths);
    CHECK(again->warnings.at(0).message == "odd");
}

TEST_CASE("a capture says what was left out", "[node][record]") {
    const auto text = node::capture_text(node::make_neutral(recorded_node("dgx-h100.xml")));
    CHECK(text.starts_with("railhead-node\t3\n# left out: UUIDs of 8 GPUs (placeholders)\n"));
}

TEST_CASE("a capture of a capture is the same", "[node][record]") {
    const auto* const file = GENERATE("dgx-h100.xml", "two-cpu-8gpu.xml", "memory-only-numa.xml");
    const auto text = node::capture_text(node::make_neutral(recorded_node(file)));
    const auto again = node::parse_node(text, "again");
    REQUIRE(again);
    CHECK(node::capture_text(node::make_neutral(*again)) == text);
}
