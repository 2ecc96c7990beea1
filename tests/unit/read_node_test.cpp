// One function for every kind of file; what `railhead node record` keeps.
#include <string>

#include "node/neutral.hpp"
#include "node/probe.hpp"
#include "node/read_node.hpp"
#include "node/wire.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

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
        {"a matrix behind a mark", "\xef\xbb\xbf\tGPU0\tNIC0\nGPU0\t X \tPIX\n",
         SourceKind::topo_m},
        {"a capture behind a mark", "\xef\xbb\xbfrailhead-node\t3\n", SourceKind::capture},
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
    CHECK(to_string(node.error()) == "my.node:3:1: 'magic' is no line of a recorded node");
}

TEST_CASE("the mark of UTF-8 does not disturb", "[node][source]") {
    const std::string mark = "\xef\xbb\xbf";
    const auto hwloc = node::parse_node(read("nodes/dgx-h100.xml"), "f");
    REQUIRE(hwloc);
    for (const auto& text :
         {read("topo-m/whole.txt"), read("nodes/dgx-h100.xml"), node::to_wire(*hwloc)}) {
        const auto plain = node::parse_node(text, "f");
        const auto marked = node::parse_node(mark + text, "f");
        REQUIRE(plain);
        REQUIRE(marked);
        CHECK(node::to_wire(*marked) == node::to_wire(*plain));
    }
}

TEST_CASE("UTF-16 is refused by its name", "[node][source][errors]") {
    using namespace std::string_literals;
    for (const auto& text :
         {"\xff\xfeG\0P\0U\0"s, "\xfe\xff\0G\0P"s, "G\0P\0U\0000\0"s, "\0<\0t"s}) {
        const auto node = node::parse_node(text, "f");
        REQUIRE_FALSE(node);
        CHECK(to_string(node.error()) == "\"f\" is UTF-16: save it as UTF-8");
    }
}

TEST_CASE("only XML of hwloc may be larger than 4 MiB", "[node][source][errors]") {
    const std::string much(std::size_t{4} << 20U, ' ');
    for (const auto& text :
         {read("topo-m/whole.txt") + much, "railhead-node\t3\n#" + much + "\nend\n",
          "<system version=\"1\"><cpu/></system>" + much}) {
        const auto node = node::parse_node(text, "f");
        REQUIRE_FALSE(node);
        CHECK(to_string(node.error()) == "\"f\" is larger than 4 MiB");
    }
    CHECK(node::parse_node("<!--" + much + "-->" + read("nodes/dgx-h100.xml"), "f"));
}

TEST_CASE("a file that is said to be of a kind is read as that", "[node][source][errors]") {
    const auto node = node::parse_node(read("nodes/dgx-h100.xml"), "dgx.xml", SourceKind::topo_m);
    REQUIRE_FALSE(node);
    CHECK_THAT(node.error().message, ContainsSubstring("no line of column names"));
}

TEST_CASE("the probe reads any kind of file, and text that is there already", "[node][probe]") {
    const auto file = railhead::test::data_file("topo-m/cpu-cell-damaged.txt");
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

    const auto neutral = node::make_neutral(dgx, {"gpu001", "gpu001-mgmt"});
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
    const auto text = node::capture_text(node::make_neutral(recorded_node("dgx-h100.xml"), {}));
    CHECK(
        text.starts_with("railhead-node\t3\n# left out: UUIDs of 8 GPUs (placeholders)\n"
                         "# left out: the name of the file that it was read from\nsource"));
}

TEST_CASE("a capture does not claim to have left out what was not there", "[node][record]") {
    auto node = recorded_node("two-cpu-8gpu.xml");
    node.source = "live";
    for (auto& gpu : node.gpus) {
        gpu.uuid.clear();
    }
    const auto neutral = node::make_neutral(node, {"gpu001"});
    CHECK(neutral.left_out.empty());
    CHECK_THAT(node::capture_text(neutral), !ContainsSubstring("#"));
}

TEST_CASE("addresses and the host's name go from wherever they stand in a name", "[node][record]") {
    const auto [name, expected] = GENERATE(table<std::string, std::string>({
        {"enx001122334455.100", "enx000000000000.100"},  // a VLAN on it
        {"rocex0c42a1030022a3b4_p1", "rocex0000000000000000_p1"},
        {"enx0011223344", "enx0000000000"},  // cut at 15 characters
        {"ib_0C42A103_0c42a10300", "ib_0C42A103_0000000000"},
        {"gpu001-ib1", "host-ib1"},
        {"roce_GPU001", "roce_host"},
        {"gpu001-mgmt0", "host0"},  // the longer of two names
        {"gpu001gpu001", "hosthost"},
        {"mlx5_bond_0", "mlx5_bond_0"},
        {"rdmap16s27", "rdmap16s27"},
        {"enP1234p1s0f0np0", "enP1234p1s0f0np0"},
    }));
    CAPTURE(name);
    auto node = recorded_node("two-cpu-8gpu.xml");
    node.nics[0].name = name;
    node.nics[1].netdevs = {name};
    node.nics[2].bond = name;
    node.warnings = {{Errc::bad_input, "odd: '" + name + "'", {}}};

    const auto neutral = node::make_neutral(node, {"gpu001", "gpu001-mgmt", "ib"}).node;

    CHECK(neutral.nics[0].name == expected);
    CHECK(neutral.nics[1].netdevs[0] == expected);
    CHECK(neutral.nics[2].bond == expected);
    CHECK(neutral.warnings[0].message == "odd: '" + expected + "'");
}

TEST_CASE("two addresses become two numbers", "[node][record]") {
    auto node = recorded_node("two-cpu-8gpu.xml");
    node.nics[0].name = "ibx001122334455";
    node.nics[1].name = "ibx001122334466";
    node.nics[2].netdevs = {"enx001122334455"};
    const auto neutral = node::make_neutral(node, {}).node;
    CHECK(neutral.nics[0].name == "ibx000000000000");
    CHECK(neutral.nics[1].name == "ibx000000000001");
    CHECK(neutral.nics[2].netdevs[0] == "enx000000000000");
}

TEST_CASE("a capture of a capture is the same", "[node][record]") {
    const auto* const file = GENERATE("dgx-h100.xml", "two-cpu-8gpu.xml", "memory-only-numa.xml");
    const auto text = node::capture_text(node::make_neutral(recorded_node(file), {}));
    const auto again = node::parse_node(text, "again");
    REQUIRE(again);
    CHECK(node::capture_text(node::make_neutral(*again, {})) == text);
}
