#include "node/from_nccl_xml.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "node/nccl_values.hpp"
#include "node/sysfs.hpp"
#include "node/wire.hpp"
#include "rails/rail_plan.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/sysfs_tree.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::Errc;
using railhead::to_string;

namespace {

/// A topology with these elements below one cpu, each on a line of its own from line 3 on.
std::string topology(const std::string& elements) {
    return "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"0000ffff\">\n" + elements +
           "\n</cpu>\n</system>\n";
}

std::string gpu(const std::string& address, const std::string& links = "") {
    return fmt::format(
        R"(<pci busid="{}" class="0x030200" vendor="0x10de" device="0x2330"><gpu dev="0" sm="90">{}</gpu></pci>)",
        address, links);
}

std::string nic(const std::string& address, const std::string& nets) {
    return fmt::format(
        R"(<pci busid="{}" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16"><nic>{}</nic></pci>)",
        address, nets);
}

std::string net(const std::string& name, const std::string& rest = "speed=\"400000\" port=\"1\"") {
    return fmt::format(R"(<net name="{}" {}/>)", name, rest);
}

std::string bridge(const std::string& address, const std::string& below) {
    return fmt::format(R"(<pci busid="{}" class="0x060400">{}</pci>)", address, below);
}

node::Node read(const std::string& xml) {
    auto node = node::parse_nccl_xml(xml, "topo.xml");
    INFO((node ? "" : to_string(node.error())));
    REQUIRE(node);
    return *node;
}

}  // namespace

TEST_CASE("NCCL's XML gives GPUs, NICs and CPUs", "[node][nccl]") {
    const auto node = read(
        topology(bridge("0000:10:00.0", gpu("0000:1b:00.0") + nic("0000:18:00.0", net("mlx5_0")))));
    CHECK(node.source == "topo.xml");
    REQUIRE(node.gpus.size() == 1);
    CHECK(node.gpus[0].vendor == "nvidia");
    CHECK(node.gpus[0].model == "10de:2330");
    CHECK(node.gpus[0].numa == 0U);
    CHECK(to_string(node.gpus[0].cpus) == "0-15");
    REQUIRE(node.nics.size() == 1);
    CHECK(node.nics[0].name == "mlx5_0");
    CHECK(node.nics[0].kind == "15b3:1021");
    CHECK(node.nics[0].gbit_per_s == 400.0);
    CHECK(std::abs(node.nics[0].pcie_gbyte_per_s.value_or(0) - 63.0) < 0.05);
    CHECK(node.nics[0].link_layer == node::LinkLayer::infiniband);
    CHECK(node.nics[0].rdma);
    CHECK(node.paths[0][0] == Path::pix);
    CHECK(to_string(node.allowed) == "0-15");
    CHECK(node::from_wire(node::to_wire(node)));
}

TEST_CASE("paths follow the bridges that NCCL writes", "[node][nccl]") {
    const auto the_gpu = gpu("0000:1b:00.0");
    const auto the_nic = nic("0000:18:00.0", net("mlx5_0"));
    const std::string other_cpu = "</cpu><cpu numaid=\"1\" affinity=\"ffff0000\">";
    const auto [why, xml, path] = GENERATE_COPY(table<std::string, std::string, Path>({
        {"one switch", bridge("0000:10:00.0", the_gpu + the_nic), Path::pix},
        {"two switches, one above the other",
         bridge("0000:10:00.0", bridge("0000:11:00.0", the_gpu) + bridge("0000:12:00.0", the_nic)),
         Path::pxb},
        {"the NIC one switch deeper",
         bridge("0000:10:00.0", the_gpu + bridge("0000:12:00.0", the_nic)), Path::pxb},
        {"both on the CPU itself", the_gpu + the_nic, Path::phb},
        {"two switches of one CPU",
         bridge("0000:10:00.0", the_gpu) + bridge("0000:11:00.0", the_nic), Path::phb},
        {"two switches with one bus id are two",
         bridge("0000:10:00.0", the_gpu) + bridge("0000:10:00.0", the_nic), Path::phb},
        {"other CPUs", the_gpu + other_cpu + the_nic, Path::sys},
    }));
    CAPTURE(why);
    CHECK(read(topology(xml)).paths[0][0] == path);
}

TEST_CASE("GPUs and NICs come in PCI order, nets of one function in the file's", "[node][nccl]") {
    const auto node = read(topology(
        nic("0000:90:00.0", net("mlx5_9") + net("mlx5_10", "speed=\"200000\" port=\"2\"")) +
        gpu("0000:2b:00.0") + nic("0000:18:00.0", net("mlx5_0")) + gpu("0000:1b:00.0")));
    CHECK(to_string(node.gpus[0].pci) == "0000:1b:00.0");
    CHECK(node.gpus[1].index == 1);
    CHECK(node.nics[0].name == "mlx5_0");
    CHECK(node.nics[1].name == "mlx5_9");
    CHECK(node.nics[2].name == "mlx5_10");
    CHECK(node.nics[2].port == 1);  // the file's 2 is the card's second function
}

TEST_CASE("a net's port and speed mean what its driver means by them", "[node][nccl]") {
    struct Case {
        std::string why, net;
        unsigned port;
        bool rdma;
        std::optional<double> gbit_per_s;
    };
    const auto c = GENERATE(values<Case>({
        {"mlx4 has two ports on one device", net("mlx4_0", "speed=\"56000\" port=\"2\""), 2, true,
         56},
        {"sockets have no port", net("eth0", "speed=\"100000\" port=\"0\""), 1, false, 100},
        {"cxi tells bits of another size", net("cxi0", "speed=\"200000000\" port=\"1\""), 1, true,
         std::nullopt},
        {"no speed at all", net("rdmap16s27", "port=\"1\""), 1, true, std::nullopt},
    }));
    CAPTURE(c.why);
    const auto node = read(topology(gpu("0000:1b:00.0") + nic("0000:18:00.0", c.net)));
    CHECK(node.nics[0].port == c.port);
    CHECK(node.nics[0].rdma == c.rdma);
    CHECK(node.nics[0].gbit_per_s == c.gbit_per_s);
}

TEST_CASE("a net may hang on the CPUs themselves", "[node][nccl]") {
    const auto node =
        read(topology(gpu("0000:1b:00.0") + "<nic>" + net("eth0", "port=\"0\"") + "</nic>"));
    CHECK_FALSE(node.nics[0].pci);
    CHECK(node.paths[0][0] == Path::phb);
}

TEST_CASE("PCI functions stand for GPUs and NICs that a file does not list", "[node][nccl]") {
    const auto function = [](const char* address, const char* kind) {
        return fmt::format(R"(<pci busid="{}" class="{}"/>)", address, kind);
    };
    const auto node = read(topology(
        bridge("ffff:ff:01.0",
               function("0102:00:00.0", "0x020700") + function("0001:00:00.0", "0x030200") +
                   function("0101:00:00.0", "0x020000") + function("0003:00:00.0", "0x120000") +
                   function("0007:00:00.0", "0x010802"))));  // a disk
    CHECK(node.gpus.size() == 2);
    REQUIRE(node.nics.size() == 2);
    CHECK(node.nics[0].name == "net0");
    CHECK(to_string(node.nics[0].pci) == "0101:00:00.0");
    CHECK(node.nics[0].link_layer == node::LinkLayer::ethernet);
    CHECK(node.nics[1].name == "net1");
    CHECK(node.incomplete == node::nics_unnamed);
    CHECK(railhead::rails::plan_rails(node).list.empty());  // NCCL is not told names of ours
}

TEST_CASE("the machine names the NICs that its XML leaves without a name", "[node][nccl][sysfs]") {
    const std::string functions =
        "<pci busid=\"0000:18:00.0\" class=\"0x020700\"/>"
        "<pci busid=\"0000:29:00.0\" class=\"0x020000\"/>";
    struct Case {
        std::string why, first, second;  // PCI functions of two RDMA devices
        std::vector<std::string> names;
    };
    const auto c = GENERATE(values<Case>({
        {"in another order", "0000:29:00.0", "0000:18:00.0", {"mlx5_7", "mlx5_3"}},
        {"one NIC has no RDMA device", "0000:18:00.0", "0000:30:00.0", {"net0", "net1"}},
        {"two devices on one function", "0000:18:00.0", "0000:18:00.0", {"net0", "net1"}},
    }));
    CAPTURE(c.why);
    const railhead::test::SysfsTree tree;
    tree.link("sys/class/infiniband/mlx5_3/device", "../../../" + c.first);
    tree.link("sys/class/infiniband/mlx5_7/device", "../../../" + c.second);
    auto node = read(topology(gpu("0000:1b:00.0") + functions));

    node::add_sysfs(node, tree.root());

    CHECK(node.nics[0].name == c.names[0]);
    CHECK(node.nics[1].name == c.names[1]);
    CHECK(node.incomplete.empty() == (c.names[0] != "net0"));
}

TEST_CASE("a NIC that the XML names keeps its name", "[node][nccl][sysfs]") {
    const railhead::test::SysfsTree tree;
    tree.link("sys/class/infiniband/mlx5_3/device", "../../../0000:18:00.0");
    auto node = read(topology(gpu("0000:1b:00.0") + nic("0000:18:00.0", net("mlx5_0"))));
    node::add_sysfs(node, tree.root());
    CHECK(node.nics[0].name == "mlx5_0");
    CHECK(node.incomplete.empty());
}

TEST_CASE("NVLinks count where they lead to another GPU", "[node][nccl]") {
    const auto link = [](const char* kind, const char* target, int count) {
        return fmt::format(R"(<{} target="{}" count="{}"/>)", kind, target, count);
    };
    struct Case {
        std::string why, links0, links1;
        unsigned direct;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"to each other", link("nvlink", "0000:02:00.0", 4), link("nvlink", "0000:01:00.0", 4), 4},
        {"through switches", link("nvlink", "0000:0a:00.0", 5) + link("nvlink", "0000:0b:00.0", 4),
         link("nvlink", "0000:0a:00.0", 5) + link("nvlink", "0000:0b:00.0", 4), 9},
        {"to itself, in a virtual machine", link("nvlink", "0000:01:00.0", 12),
         link("nvlink", "0000:02:00.0", 12), 0},
        {"xGMI is one link, however it counts", link("xgmi", "0000:02:00.0", 4), "", 1},
        {"to nowhere that can be read", link("nvlink", "fffffff:ffff:ff", 4), "", 0},
    }));
    CAPTURE(c.why);
    const auto node = read(topology(gpu("0000:01:00.0", c.links0) + gpu("0000:02:00.0", c.links1)));
    CHECK(node.links[0][1].direct == c.direct);
    CHECK(node.links[0][0].direct == 0);
    CHECK(node.links[0][1].path == Path::phb);
}

TEST_CASE("RCCL's GPUs are AMD's, with ROCm's numbers", "[node][nccl]") {
    const auto node = read(topology(
        R"(<pci busid="0000:c1:00.0" class="0x038000"><gpu dev="4" gcn="gfx942" rank="0"/></pci>)"));
    CHECK(node.gpus[0].vendor == "amd");
    CHECK(node.gpus[0].rocm_indices == std::vector<unsigned>{4});
}

TEST_CASE("a NUMA node that the machine hides is none", "[node][nccl]") {
    const auto node = read("<system><cpu numaid=\"-1\">" + gpu("0000:1b:00.0") +
                           nic("0000:18:00.0", net("mlx5_0")) + "</cpu></system>");
    CHECK(node.numa.empty());
    CHECK_FALSE(node.gpus[0].numa);
    CHECK(node.gpus[0].cpus.empty());
}

TEST_CASE("what is wrong in NCCL's XML is told with its place", "[node][nccl][errors]") {
    struct Case {
        std::string xml, error;
        Errc code = Errc::bad_input;
    };
    const auto c = GENERATE(values<Case>({
        {"", "topo.xml:1:1: no XML: No document element found"},
        {"<system>\n<cpu", "topo.xml:2:4: no XML: Error parsing start element tag"},
        {"<topology version=\"2.0\"/>",
         "topo.xml:1:2: 'topology' is no topology of NCCL: a system with a cpu is expected"},
        {"\n<graphs version=\"1\"/>",
         "topo.xml:2:2: a graph of NCCL (for NCCL_GRAPH_FILE), which tells no distances; a "
         "topology "
         "is what NCCL writes with NCCL_TOPO_DUMP_FILE",
         Errc::unsupported},
        {"<system>\n <cpu numaid=\"x\"/></system>", "topo.xml:2:3: numaid 'x' is no number"},
        {"<system><cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/></system>",
         "topo.xml:2:2: numaid 0 is listed twice"},
        {"<system><cpu numaid=\"0\" affinity=\"0-3\"/></system>",
         "topo.xml:1:10: affinity '0-3' is no CPU mask like 00000000,0000ffff"},
        {topology(gpu("0000:zz:00.0")),
         "topo.xml:3:2: busid: '0000:zz:00.0' is not a PCI address like 0000:17:00.0"},
        {topology(gpu("0000:1b:00.0") + "\n" + gpu("0000:1b:00.0")),
         "topo.xml:4:2: GPU 0000:1b:00.0 is listed twice"},
        {topology("<pci busid=\"0000:00:16.0\"/>"),
         "topo.xml:3:2: PCI function '0000:00:16.0' has no class: which functions are GPUs and "
         "which NICs, only the machine itself can tell; write the file there with "
         "NCCL_TOPO_DUMP_FILE",
         Errc::unsupported},
        {topology("<nic>\n<net dev=\"0\"/></nic>"), "topo.xml:4:2: a net without name"},
        {topology("<nic>\n" + net("mlx5_0,mlx5_1") + "</nic>"),
         "topo.xml:4:2: 'mlx5_0,mlx5_1' is no name of a NIC: up to 64 letters, digits, '_', '.' "
         "and '-'"},
        {topology("<nic>\n" + net("caf\xc3\xa9") + "</nic>"),
         "topo.xml:4:2: 'caf\xc3\xa9' is no name of a NIC: up to 64 letters, digits, '_', '.' "
         "and '-'"},
    }));
    CAPTURE(c.xml);
    const auto node = node::parse_nccl_xml(c.xml, "topo.xml");
    REQUIRE_FALSE(node);
    CHECK(to_string(node.error()) == c.error);
    CHECK(node.error().code == c.code);
}

TEST_CASE("a hostile file has its limits", "[node][nccl][errors]") {
    std::string deep;
    std::string wide;
    for (unsigned i = 0; i < 2000; ++i) {
        deep += "<pci busid=\"0000:10:00.0\" class=\"0x060400\">";
        wide += gpu(fmt::format("{:04x}:01:00.0", i));
    }
    const auto many_nets = [] {
        std::string nets;
        for (unsigned i = 0; i < 2000; ++i) {
            nets += net(fmt::format("mlx5_{}", i));
        }
        return nets;
    }();
    for (std::size_t i = 0; i < 2000; ++i) {
        deep += "</pci>";
    }
    const auto [xml, error] = GENERATE_COPY(table<std::string, std::string>({
        {topology(deep), "more than 32 elements in each other"},
        {topology(wide), "more than 256 GPUs"},
        {topology("<nic>" + many_nets + "</nic>"), "more than 1024 NICs"},
        {topology(std::string(5U << 20U, ' ')), "\"topo.xml\" is larger than 4 MiB"},
    }));
    const auto node = node::parse_nccl_xml(xml, "topo.xml");
    REQUIRE_FALSE(node);
    CHECK(node.error().message == error);
}

// ---- values -------------------------------------------------------------------------------

TEST_CASE("CPU masks are groups of 32 CPUs, the highest first", "[node][nccl]") {
    const auto [text, list] = GENERATE(table<std::string, std::string>({
        {"ffffffff", "0-31"},
        {"00000000,00ffffff", "0-23"},
        {"ffffff00,00000000,00000000", "72-95"},
        {"0003ff,f0003fff", "0-13,28-41"},  // the zeros in front are not always written
        {"0", ""},
    }));
    CAPTURE(text);
    const auto cpus = node::parse_nccl_mask(text);
    REQUIRE(cpus);
    CHECK(to_string(*cpus) == list);
    for (const auto* const bad : {"", ",", "ff,", "0x1ffffffff", "ffffffffff", "12 3", "-1"}) {
        CAPTURE(bad);
        CHECK_FALSE(node::parse_nccl_mask(bad));
    }
}

TEST_CASE("a PCIe link carries what its line code leaves", "[node][nccl]") {
    struct Case {
        std::string speed, width;
        std::optional<double> gbyte_per_s;
    };
    const auto c = GENERATE(values<Case>({
        {"2.5 GT/s", "1", 0.25},
        {"5.0 GT/s PCIe", "16", 8},
        {"8 GT/s", "16", 15.75},
        {"16.0 GT/s PCIe", "16", 31.5},
        {"32.0 GT/s PCIe", "16", 63.0},
        {"64.0 GT/s PCIe", "16", 121.0},
        {"", "0", std::nullopt},  // a virtual machine
        {"Unknown", "255", std::nullopt},
        {"16 GT/s", "", std::nullopt},
        {"0 GT/s", "16", std::nullopt},
    }));
    CAPTURE(c.speed);
    const auto found = node::pcie_gbyte_per_s(c.speed, c.width);
    REQUIRE(found.has_value() == c.gbyte_per_s.has_value());
    CHECK(std::abs(found.value_or(0) - c.gbyte_per_s.value_or(0)) < 0.02);
}
