#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"
#include "support/temp_dir.hpp"

using railhead::test::run;

TEST_CASE("railhead rails shows a recorded node", "[cli][rails]") {
    const auto file = railhead::test::node_file("dgx-h100.xml");
    const auto text = run({"rails", "--hwloc-xml", file});
    CHECK(text.status == 0);
    CHECK_THAT(text.out, ContainsSubstring("\n4    0000:9d:00.0  1     32-39  PXB   mlx5_6:1\n"));
    CHECK(text.err.empty());

    const auto json = nlohmann::json::parse(run({"rails", "--json", "--hwloc-xml", file}).out);
    CHECK(json["schema"] == "railhead.rails/1");
    CHECK(json["gpus"].size() == 8);
}

TEST_CASE("a recorded node is not mixed up with this machine", "[cli][rails]") {
    const railhead::test::TempDir home;
    home.write(".nccl.conf", "NCCL_IB_HCA=mine\n");
    const railhead::test::ScopedVariable variable_home{"HOME", home.path()};
    const railhead::test::ScopedVariable own{"UCX_NET_DEVICES", "mine"};
    const auto recorded =
        run({"rails", "--hwloc-xml", railhead::test::node_file("two-cpu-8gpu.xml")});
    CHECK_THAT(recorded.out, ContainsSubstring("NCCL_IB_HCA      =mlx5_0:1,"));
    CHECK_THAT(recorded.out, !ContainsSubstring("left to"));
}

TEST_CASE("input that cannot be read is exit status 2 and one line", "[cli][rails][errors]") {
    const railhead::test::TempDir folder;
    for (const auto& file :
         {folder.path("absent"), folder.path(), folder.write("bad.xml", "not XML\n")}) {
        CAPTURE(file);
        const auto ran = run({"rails", "--hwloc-xml", file});
        CHECK(ran.status == 2);
        CHECK(ran.out.empty());
        CHECK(ran.err.starts_with("railhead: "));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
    }
}

TEST_CASE("railhead rails looks at this machine", "[cli][rails]") {
    const auto live = run({"rails"});
    CHECK(live.status == 0);
    CHECK(live.out.starts_with("Node   live\n"));
}

TEST_CASE("railhead rails guesses the kind of a bare file", "[cli][rails]") {
    const auto matrix = run({"rails", railhead::test::data_file("topo-m/whole.txt")});
    CHECK(matrix.status == 0);
    CHECK_THAT(matrix.out, ContainsSubstring("\n1    -    1     16-31,48-63  PIX   mlx5_3:1\n"));
    const auto named = run({"rails", "--topo-m", railhead::test::data_file("topo-m/whole.txt")});
    CHECK(named.out == matrix.out);
    CHECK(run({"rails", railhead::test::node_file("dgx-h100.xml")}).out ==
          run({"rails", "--hwloc-xml", railhead::test::node_file("dgx-h100.xml")}).out);
}

TEST_CASE("a file called - is standard input", "[cli][rails]") {
    const int before = ::dup(0);
    const int file = ::open(railhead::test::data_file("topo-m/whole.txt").c_str(), O_RDONLY);
    REQUIRE(::dup2(file, 0) == 0);

    const auto ran = run({"rails", "-"});

    ::dup2(before, 0);
    ::close(before);
    ::close(file);
    CHECK(ran.status == 0);
    CHECK(ran.out.starts_with("Node   standard input\nGPUs   2 x nvidia GPU\n"));
}

TEST_CASE("a file without a name is not this machine", "[cli][rails][record][errors]") {
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"rails", ""},
                                               {"rails", "--topo-m", ""},
                                               {"rails", "--hwloc-xml", ""},
                                               {"node", "record", "--from", ""},
                                               {"health", ""}}) {
        CAPTURE(arguments);
        const auto ran = run(arguments);
        CHECK(ran.status == 2);
        CHECK(ran.out.empty());
        CHECK_THAT(ran.err, ContainsSubstring("is empty"));
    }
}

TEST_CASE("a root without sys is exit status 2", "[cli][record][health][errors]") {
    const railhead::test::TempDir folder;
    const auto root = folder.path();
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"node", "record", "--root", root}, {"health", "--root", root}}) {
        CAPTURE(arguments);
        const auto ran = run(arguments);
        CHECK(ran.status == 2);
        CHECK(ran.out.empty());
        CHECK_THAT(ran.err, ContainsSubstring("there is no \"" + root + "/sys\""));
    }
}

TEST_CASE("two recorded nodes at once are one too many", "[cli][rails][errors]") {
    const auto ran = run({"rails", "--topo-m", "a", "--hwloc-xml", "b"});
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, ContainsSubstring("--topo-m excludes --hwloc-xml"));
}

TEST_CASE("JSON says what a source left in doubt", "[cli][rails]") {
    const auto json = [](const std::string& name) {
        return nlohmann::json::parse(
            run({"rails", "--json", railhead::test::data_file("topo-m/" + name)}).out);
    };
    CHECK(json("whole.txt")["incomplete"].is_null());
    CHECK(json("whole.txt")["warnings"].empty());
    const auto cut = json("gpu-rows-cut.txt");
    CHECK(cut["incomplete"] == "the matrix is cut off before GPU1");
    CHECK(cut["rails"] == "");
    CHECK(cut["warnings"].size() == 1);
}

TEST_CASE("railhead node record keeps a node without what tells it from others",
          "[cli][record]") {
    const railhead::test::TempDir folder;
    const auto file = folder.path("dgx.node");
    const auto ran = run({"node", "record", "--from", railhead::test::node_file("dgx-h100.xml"),
                          "--output", file});
    CHECK(ran.status == 0);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, ContainsSubstring("railhead: left out: UUIDs of 8 GPUs"));

    const auto report = run({"rails", file});
    const auto original = run({"rails", railhead::test::node_file("dgx-h100.xml")});
    CHECK(report.out.substr(report.out.find("\nGPUs")) ==
          original.out.substr(original.out.find("\nGPUs")));
}

TEST_CASE("a capture goes to standard output where no file is named", "[cli][record]") {
    const auto ran = run({"node", "record"});
    CHECK(ran.status == 0);
    CHECK(ran.out.starts_with("railhead-node\t"));
    CHECK(ran.out.ends_with("\nend\n"));
}

TEST_CASE("a capture that cannot be made is exit status 2", "[cli][record][errors]") {
    CHECK(run({"node", "record", "--from", "/absent"}).status == 2);
    const auto unwritable =
        run({"node", "record", "--from", railhead::test::data_file("topo-m/whole.txt"), "--output",
             "/absent/dgx.node"});
    CHECK(unwritable.status == 2);
    CHECK_THAT(unwritable.err, ContainsSubstring("cannot write \"/absent/dgx.node\""));
    CHECK(run({"node"}).status == 2);
}

TEST_CASE("a fingerprint is one line that names the file", "[cli][rails]") {
    const auto file = railhead::test::node_file("dgx-h100.xml");
    const auto ran = run({"rails", "--fingerprint", "--hwloc-xml", file});
    CHECK(ran.status == 0);
    CHECK(std::ranges::count(ran.out, '\n') == 1);
    CHECK_THAT(ran.out, ContainsSubstring("  mlx5_0:1,mlx5_3:1,"));
    CHECK_THAT(ran.out, ContainsSubstring("  node=" + file + "\n"));
}

namespace {

/// What `railhead rails` writes for a recorded node, each line with a label of srun.
std::string labelled(const std::string& label, const std::string& option,
                     const std::string& file) {
    const auto path = railhead::test::node_file(file);
    const auto ran = run({"rails", option, "--hwloc-xml", path});
    auto text = ran.out.substr(0, ran.out.find("  node="));
    for (auto at = text.find(path); at != std::string::npos; at = text.find(path)) {
        text.replace(at, path.size(), "");  // the label shall name the node
    }
    std::string out;
    for (const auto line : railhead::split(text, '\n')) {
        out += line.empty() ? "" : label + std::string{line} + "\n";
    }
    return out;
}

/// Lines of several texts, taken in turn.
std::string mixed(const std::string& a, const std::string& b) {
    const auto lines_a = railhead::split(a, '\n');
    const auto lines_b = railhead::split(b, '\n');
    std::string out;
    for (std::size_t i = 0; i < std::max(lines_a.size(), lines_b.size()); ++i) {
        out += i < lines_a.size() ? std::string{lines_a[i]} + "\n" : "";
        out += i < lines_b.size() ? std::string{lines_b[i]} + "\n" : "";
    }
    return out;
}

}  // namespace

TEST_CASE("nodes are compared by what they wrote under srun", "[cli][rails][compare]") {
    const railhead::test::TempDir folder;
    const auto lines = folder.write("lines", labelled(" 0: ", "--fingerprint", "dgx-h100.xml") +
                                                 labelled("10: ", "--fingerprint", "dgx-h100.xml"));
    const auto same = run({"rails", "--compare", lines});
    CHECK(same.status == 0);
    CHECK(same.err.empty());
    CHECK(same.out.starts_with("2 nodes, the same rails\n"));

    const auto other =
        folder.write("other", labelled("2: ", "--fingerprint", "two-cpu-8gpu.xml"));
    const auto differ = run({"rails", "--compare", lines, other});
    CHECK(differ.status == 1);
    CHECK(differ.out.starts_with("3 nodes, 2 kinds of rails\n"));
    CHECK_THAT(differ.out, ContainsSubstring("    GPU 0: path and rail PIX:0, most have PXB:0\n"));
    CHECK_THAT(differ.out, ContainsSubstring("    and 4 GPUs more\n"));
}

TEST_CASE("JSON and recorded nodes compare as lines do", "[cli][rails][compare]") {
    const railhead::test::TempDir folder;
    const auto json = folder.write("json", mixed(labelled(" 0: ", "--json", "dgx-h100.xml"),
                                                 labelled("10: ", "--json", "dgx-h100.xml")));
    const auto plain = folder.write("plain", labelled("", "--json", "dgx-h100.xml"));
    const auto ran =
        run({"rails", "--compare", json, plain, railhead::test::node_file("dgx-h100.xml")});
    CHECK(ran.err.empty());
    CHECK(ran.status == 0);
    CHECK(ran.out.starts_with("4 nodes, the same rails\n"));
}

TEST_CASE("NCCL's XML compares too", "[cli][rails][compare]") {
    const railhead::test::TempDir folder;
    const auto topology = folder.write(
        "topo.xml",
        "\n<system version=\"1\"><cpu numaid=\"0\">"
        "<pci busid=\"0000:10:00.0\" class=\"0x060400\">"
        "<pci busid=\"0000:11:00.0\" class=\"0x030200\"/>"
        "<pci busid=\"0000:12:00.0\" class=\"0x020700\"/></pci></cpu></system>\n");
    const auto ran = run({"rails", "--compare", topology, topology});
    CHECK(ran.err.empty());
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, ContainsSubstring("    1 rail of ? Gb/s InfiniBand (?)\n"));
}

TEST_CASE("what is no node is refused with its line", "[cli][rails][compare][errors]") {
    const railhead::test::TempDir folder;
    const auto line = labelled("", "--fingerprint", "dgx-h100.xml");
    const auto [text, said] = GENERATE_COPY(table<std::string, std::string>({
        {"", "/in\"\n"},
        {line + "srun: error: task 3\n", "/in:2:1: 'srun: error: task 3' is no line of railhead "},
        {line + "{\n  \"schema\": \"other\"\n}\n", "/in:2:1: no JSON of railhead rails"},
        {"{\n", "/in:1:1: JSON that does not end\n"},
        {"<system/>", "/in:1:2: 'system' is no topology of NCCL"},
    }));
    CAPTURE(text);
    const auto ran = run({"rails", "--compare", folder.write("in", text)});
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, ContainsSubstring(said));
    CHECK(run({"rails", "--compare", folder.path("absent")}).status == 2);
}

TEST_CASE("what stands after --why is a variable where it can be one", "[cli][rails][why]") {
    const auto file = railhead::test::node_file("dgx-h100.xml");
    const auto one = run({"rails", "--why", "NCCL_IB_HCA", file});
    CHECK(one.status == 0);
    CHECK_THAT(one.out, ContainsSubstring("->  automatic    this node  =mlx5_0:1,mlx5_3:1,"));
    const auto all = run({"rails", "--why", file});
    CHECK(all.status == 0);
    CHECK(all.out == run({"rails", file, "--why"}).out);
    CHECK_THAT(all.out, ContainsSubstring("NCCL_IB_HCA") && ContainsSubstring("GLOO_SOCKET_IFNAME"));
}

TEST_CASE("a picture is written into a file", "[cli][rails][svg]") {
    const railhead::test::TempDir folder;
    const auto file = folder.path("dgx.svg");
    const auto ran = run({"rails", "--svg", file, railhead::test::node_file("dgx-h100.xml")});
    CHECK(ran.status == 0);
    CHECK(ran.out.empty());
    const auto picture = railhead::read_file(file);
    REQUIRE(picture);
    CHECK(picture->starts_with("<svg "));
    CHECK(run({"rails", "--svg", "/absent/x.svg", railhead::test::node_file("dgx-h100.xml")})
              .status == 2);
}

TEST_CASE("comparing nodes leaves no room for other answers", "[cli][rails][compare][errors]") {
    const auto file = railhead::test::node_file("dgx-h100.xml");
    for (const std::string option : {"--json", "--fingerprint"}) {
        CAPTURE(option);
        CHECK(run({"rails", option, "--compare", file}).status == 2);
    }
    CHECK(run({"rails", "--hwloc-xml", file, "--compare", file}).status == 2);
    CHECK(run({"rails", "--json", "--fingerprint", "--hwloc-xml", file}).status == 2);
}
