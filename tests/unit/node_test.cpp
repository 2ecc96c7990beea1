#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/file.hpp"
#include "node/from_hwloc.hpp"
#include "node/gpu_identity.hpp"
#include "node/probe.hpp"
#include "node/sysfs.hpp"
#include "node/wire.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/nodes.hpp"
#include "support/sysfs_tree.hpp"
#include "support/temp_dir.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::Errc;
using railhead::to_string;
using railhead::test::cpus;
using railhead::test::node_file;
using railhead::test::recorded_node;
using Tree = railhead::test::SysfsTree;

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

// ---- the probe ----------------------------------------------------------------------------

namespace {

std::size_t entries(const char* folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder}, {}));
}

/// The libraries that are loaded, one a line.
std::string libraries() {
    std::string names;
    std::string last;
    std::ifstream in{"/proc/self/maps"};
    for (std::string line; std::getline(in, line);) {
        const auto path = line.find('/');
        if (path != std::string::npos && line.find(".so") != std::string::npos &&
            line.substr(path) != last) {
            last = line.substr(path);
            names += last + "\n";
        }
    }
    return names;
}

std::string variables() {
    std::string all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        all += std::string{*entry} + "\n";
    }
    return all;
}

/// Runs `check` as the probe's child does: in hwloc's environment; 0 when all is well.
template <class Check>
int in_child(const Check& check) {
    const pid_t child = ::fork();
    if (child == 0) {
        environ = const_cast<char**>(node::hwloc_environment());
        ::_exit(check());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("the probe leaves no thread, library, variable, file or child behind", "[node][probe]") {
    const auto threads = entries("/proc/self/task");
    const auto files = entries("/proc/self/fd");
    const auto loaded = libraries();
    const auto environment = variables();

    const auto live = node::probe({});
    const auto recorded = node::probe({.file = node_file("dgx-h100.xml")});

    REQUIRE(live);
    REQUIRE(recorded);
    CHECK(live->source == "live");
    CHECK_FALSE(live->allowed.empty());
    CHECK(entries("/proc/self/task") == threads);
    CHECK(entries("/proc/self/fd") == files);
    CHECK(libraries() == loaded);
    CHECK(variables() == environment);
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
}

#ifdef __SANITIZE_THREAD__
constexpr bool sanitizer_has_a_thread = true;
#else
constexpr bool sanitizer_has_a_thread = false;
#endif

TEST_CASE("hwloc itself starts no thread and opens no plugin in its child", "[node][probe]") {
    const int code = in_child([] {
        const auto before = libraries();
        const auto live = node::read_hwloc();
        if (!live) {
            return 1;
        }
        if (entries("/proc/self/task") != 1 && !sanitizer_has_a_thread) {
            return 2;
        }
        return libraries() == before ? 0 : 3;
    });
    CHECK(code == 0);  // 1: no answer, 2: a thread, 3: a library
}

TEST_CASE("the probe gives up when the limit passes", "[node][probe][errors]") {
    node::ProbeOptions options;
    options.limit = std::chrono::milliseconds{0};
    const auto node = node::probe(options);
    REQUIRE_FALSE(node);
    CHECK(node.error().code == Errc::unavailable);
    CHECK_THAT(node.error().message, ContainsSubstring("no answer from this node's hardware"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
}

TEST_CASE("the probe names the file that takes too long", "[node][probe][errors]") {
    node::ProbeOptions options{.file = node_file("dgx-h100.xml")};
    options.limit = std::chrono::milliseconds{0};
    const auto node = node::probe(options);
    REQUIRE_FALSE(node);
    CHECK(node.error().message ==
          "no answer from the process that reads \"" + options.file + "\" in 0 ms");
}

TEST_CASE("a root without sys is no other machine, and not this one either",
          "[node][probe][errors]") {
    const railhead::test::TempDir folder;
    for (const auto& root : {folder.path(), folder.path("absent"), folder.write("file", "")}) {
        CAPTURE(root);
        const auto node = node::probe({.root = root});
        REQUIRE_FALSE(node);
        CHECK(node.error().code == Errc::not_found);
        CHECK_THAT(node.error().message, ContainsSubstring("there is no \"" + root + "/sys\""));
    }
}

TEST_CASE("a file that others could have written is not acted on by root",
          "[node][probe][errors]") {
    const railhead::test::TempDir folder;
    const auto file = folder.write("dgx.xml", railhead::test::read("nodes/dgx-h100.xml"));
    CHECK(node::probe({.file = file, .owner = ::geteuid()}));
    std::filesystem::permissions(file, std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    const auto node = node::probe({.file = file, .owner = ::geteuid()});
    REQUIRE_FALSE(node);
    CHECK_THAT(node.error().message, ContainsSubstring("can be written by others"));
    CHECK(node::probe({.file = file}));
}

TEST_CASE("the probe hands on what is wrong with the file", "[node][probe][errors]") {
    struct Case {
        std::string file;
        Errc code;
        std::string part;
    };
    const railhead::test::TempDir folder;
    const std::vector<Case> cases{
        {folder.path("absent.xml"), Errc::not_found, "absent.xml"},
        {folder.path(), Errc::bad_input, "not a regular file"},
        {folder.write("bad.xml", "<topology"), Errc::bad_input, "is no topology in hwloc's XML"},
        {folder.write("prose.txt", "it is slow"), Errc::bad_input, "tells of no node"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.file);
        const auto node = node::probe({.file = c.file});
        REQUIRE_FALSE(node);
        CHECK(node.error().code == c.code);
        CHECK_THAT(node.error().message, ContainsSubstring(c.part));
    }
}

// ---- the wire -----------------------------------------------------------------------------

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

// ---- sysfs --------------------------------------------------------------------------------

TEST_CASE("sysfs fills in what the first source left open", "[node][sysfs]") {
    const Tree tree;
    const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
    tree.write(port + "rate", "200 Gb/sec (4X HDR)\n");
    tree.write(port + "link_layer", "Ethernet\n");
    tree.write(port + "state", "4: ACTIVE\n");
    tree.write("proc/driver/nvidia/gpus/0000:01:00.0/information",
               "Model: \t\t NVIDIA H200\nIRQ:   \t\t 24\n"
               "GPU UUID: \t GPU-11111111-2222-3333-4444-555555555555\nDevice Minor: \t 3\n");
    auto node = railhead::test::node_with({{Path::pix, Path::pix}});
    node.nics[0].gbit_per_s.reset();
    node.nics[0].link_layer = node::LinkLayer::unknown;

    node::add_sysfs(node, tree.root());

    CHECK(node.nics[0].gbit_per_s == 200.0);
    CHECK(node.nics[0].link_layer == node::LinkLayer::ethernet);
    CHECK(node.nics[0].active);
    CHECK(node.nics[1].gbit_per_s == 400.0);  // no file: unchanged
    CHECK(node.gpus[0].uuid == "GPU-11111111-2222-3333-4444-555555555555");
    CHECK(node.gpus[0].minor == 3U);
    CHECK(node.gpus[0].model == "NVIDIA H200");
}

TEST_CASE("the rate of a port that is down is not its own", "[node][sysfs]") {
    const Tree tree;
    tree.write("sys/class/infiniband/mlx5_0/ports/1/rate", "10 Gb/sec (4X SDR)\n");
    tree.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
    auto node = railhead::test::node_with({{Path::pix}});
    node.nics[0].gbit_per_s.reset();

    node::add_sysfs(node, tree.root());

    CHECK_FALSE(node.nics[0].active);
    CHECK_FALSE(node.nics[0].gbit_per_s);
}

TEST_CASE("a UUID that the driver hides is not taken", "[node][sysfs]") {
    const Tree tree;
    tree.write("proc/driver/nvidia/gpus/0000:01:00.0/information",
               "GPU UUID: \t GPU-" + std::string(8, '?') + "\n");
    auto node = railhead::test::node_with({{Path::pix}});
    node::add_sysfs(node, tree.root());
    CHECK(node.gpus[0].uuid.empty());
}

TEST_CASE("an SR-IOV function is known by its card, where that is here", "[node][sysfs]") {
    const Tree tree;
    tree.link("sys/class/infiniband/mlx5_1/device/physfn", "../0000:65:00.0");
    tree.link("sys/class/infiniband/mlx5_2/device/physfn", "../0000:99:00.0");  // passed through
    auto node = railhead::test::node_with({{Path::pix, Path::pix, Path::pix}});
    REQUIRE(to_string(node.nics[0].pci) == "0000:65:00.0");

    node::add_sysfs(node, tree.root());

    CHECK_FALSE(node.nics[0].virtual_function);
    CHECK(node.nics[1].virtual_function);
    CHECK_FALSE(node.nics[2].virtual_function);
}

TEST_CASE("a bond's member is known by its master, and a bridge is none", "[node][sysfs]") {
    const Tree tree;
    tree.link("sys/class/net/eth0/master", "../bond0");
    tree.write("sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
    tree.link("sys/class/net/eth1/master", "../br0");
    tree.write("sys/class/net/br0/bridge/bridge_id", "8000.000000000000\n");
    auto node = railhead::test::node_with({{Path::pix, Path::pix, Path::pix}});
    node.nics[0].netdevs = {"eth0"};
    node.nics[1].netdevs = {"eth1"};

    node::add_sysfs(node, tree.root());

    CHECK(node.nics[0].bond == "bond0");
    CHECK(node.nics[1].bond.empty());
    CHECK(node.nics[2].bond.empty());
}

TEST_CASE("a Slingshot NIC gets the name of its own class", "[node][sysfs]") {
    const Tree tree;
    tree.link("sys/class/cxi/cxi3/device", "../../../0000:65:00.0");
    auto node = railhead::test::node_with({{Path::pix}});
    node.nics[0].name = "hsi0";

    node::add_sysfs(node, tree.root());

    CHECK(node.nics[0].name == "cxi3");
}

TEST_CASE("port rates are numbers of gigabits", "[node][sysfs]") {
    CHECK(node::parse_port_rate("400 Gb/sec (4X NDR)") == 400.0);
    CHECK(node::parse_port_rate("2.5 Gb/sec (1X SDR)") == 2.5);
    for (const auto* const text : {"", "400", "400 MB/sec", "-1 Gb/sec", "fast Gb/sec"}) {
        CAPTURE(text);
        CHECK_FALSE(node::parse_port_rate(text));
    }
}
