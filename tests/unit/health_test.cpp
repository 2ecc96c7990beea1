#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "node/read_node.hpp"
#include "rails/health.hpp"
#include "rails/health_check.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/nodes.hpp"
#include "support/sysfs_tree.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using node::LinkLayer;
using node::Path;
using node::PortState;
using rails::Finding;
using rails::Severity;

namespace {

/// Four GPUs, each with a NIC of its own below its switch.
node::Node four_rails() {
    std::vector<std::vector<Path>> paths(4, std::vector<Path>(4, Path::node));
    for (std::size_t i = 0; i < 4; ++i) {
        paths[i][i] = Path::pix;
    }
    return railhead::test::node_with(paths);
}

/// Ports as they should be.
std::vector<node::Port> good_ports(const node::Node& node, const std::vector<std::size_t>& nics) {
    std::vector<node::Port> ports;
    for (const auto position : nics) {
        const auto& nic = node.nics[position];
        node::Port port;
        port.present = true;
        port.state = PortState::active;
        port.link_layer = nic.link_layer;
        port.gbit_per_s = nic.gbit_per_s;
        if (nic.link_layer == LinkLayer::ethernet) {
            port.has_address = true;
        }
        port.pcie = node::PcieLink{32, 16};
        ports.push_back(port);
    }
    return ports;
}

struct Subject {
    node::Node node = four_rails();
    std::vector<std::string> declared;
    std::vector<node::UnusableDevice> unusable;
    std::optional<unsigned> gpus;
    std::function<void(std::vector<node::Port>&)> change_ports = [](auto&) {};
};

std::vector<Finding> judge(const Subject& subject) {
    const auto plan = rails::plan_rails(subject.node, subject.declared);
    const auto watched = rails::watched_nics(subject.node, plan, !subject.declared.empty());
    auto ports = good_ports(subject.node, watched);
    subject.change_ports(ports);
    return rails::judge_health(
        {subject.node, plan, watched, ports, subject.unusable, subject.gpus});
}

void make_ethernet(node::Node& node) {
    for (auto& nic : node.nics) {
        nic.link_layer = LinkLayer::ethernet;
        nic.netdevs = {"ens" + nic.name.substr(nic.name.find('_') + 1)};
    }
}

}  // namespace

TEST_CASE("a node that is as it should be has no findings", "[health]") {
    CHECK(judge({}).empty());
    Subject roce;
    make_ethernet(roce.node);
    CHECK(judge(roce).empty());
    for (const auto* const file : {"dgx-h100.xml", "two-cpu-8gpu.xml"}) {
        CAPTURE(file);
        Subject recorded;
        recorded.node = railhead::test::recorded_node(file);
        CHECK(judge(recorded).empty());
    }
}

TEST_CASE("what is wrong with a rail is said with what to do", "[health]") {
    struct Case {
        std::string why;
        std::function<void(node::Port&)> change;
        std::string what, remedy;
    };
    const auto c = GENERATE(values<Case>({
        {"no cable",
         [](auto& port) {
             port.state = PortState::down;
             port.link = "Polling";
         },
         "port 1 down", "no light from the other side"},
        {"off here",
         [](auto& port) {
             port.state = PortState::down;
             port.link = "Disabled";
         },
         "port 1 down", "it is off on this side (Disabled)"},
        {"a link in training",
         [](auto& port) {
             port.state = PortState::down;
             port.link = "PortConfigurationTraining";
         },
         "port 1 down", "(PortConfigurationTraining)"},
        {"nobody manages the fabric",
         [](auto& port) {
             port.state = PortState::initializing;
             port.lid = 0;
         },
         "port 1 initializing", "does a subnet manager run"},
        {"the subnet manager stopped half way",
         [](auto& port) {
             port.state = PortState::armed;
             port.lid = 26;
         },
         "port 1 initializing", "the subnet manager has begun"},
        {"half its rate", [](auto& port) { port.gbit_per_s = 200; }, "200 of 400 Gb/s", "cable"},
        {"the other link layer", [](auto& port) { port.link_layer = LinkLayer::ethernet; },
         "Ethernet where rails are InfiniBand", "LINK_TYPE_P1"},
        {"half its lanes", [](auto& port) { port.pcie->lanes = 8; }, "PCIe x8 of x16", "reseat"},
        {"a generation less", [](auto& port) { port.pcie->gt_per_s = 16; }, "PCIe 16 of 32 GT/s",
         "reseat"},
        {"its driver is not loaded", [](auto& port) { port = {}; }, "missing", "lspci"},
    }));
    CAPTURE(c.why);
    Subject subject;
    subject.change_ports = [&](auto& ports) { c.change(ports[2]); };

    const auto findings = judge(subject);

    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::fault);
    CHECK(findings[0].nic == "mlx5_2");
    CHECK(findings[0].what == c.what);
    CHECK_THAT(findings[0].remedy, ContainsSubstring(c.remedy));
}

TEST_CASE("a RoCE rail without an address is told with its interface", "[health]") {
    Subject subject;
    make_ethernet(subject.node);
    subject.change_ports = [](auto& ports) { ports[1].has_address = false; };
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].what == "has no RoCE v2 address");
    CHECK_THAT(findings[0].remedy, ContainsSubstring("give ens1 an IP address"));

    subject.change_ports = [](auto& ports) {
        ports[1].state = PortState::down;
        ports[1].link = "Disabled";
    };
    CHECK_THAT(judge(subject).at(0).remedy, ContainsSubstring("ip link set ens1 up"));
}

TEST_CASE("what all rails have alike is how the machine was built", "[health]") {
    Subject subject;
    subject.change_ports = [](auto& ports) {
        for (auto& port : ports) {
            port.pcie = node::PcieLink{32, 16};
        }
    };
    CHECK(judge(subject).empty());

    subject.change_ports = [](auto& ports) {
        for (auto& port : ports) {
            port.pcie = node::PcieLink{16, 16};
        }
    };
    const auto findings = judge(subject);  // 252 Gb/s: the ports cannot reach their rate
    REQUIRE(findings.size() == 4);
    CHECK(findings[0].severity == Severity::advice);
    CHECK(findings[0].what == "400 Gb/s behind a PCIe link of 252 Gb/s");
}

TEST_CASE("PCIe links are held against those of the same kind of device", "[health]") {
    Subject subject;
    subject.declared = {"mlx5_0", "mlx5_1"};
    subject.node.nics[1].kind = "15b3:101b";
    subject.change_ports = [](auto& ports) {
        ports[1].pcie = node::PcieLink{32, 8};
        ports[1].gbit_per_s = 200;
    };
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 1);  // the rate, not the lanes
    CHECK(findings[0].what == "200 of 400 Gb/s");
}

TEST_CASE("a rail that came up slow is found although the plan then has no room for it",
          "[health]") {
    Subject subject;
    subject.node.nics[3].gbit_per_s = 200;
    REQUIRE(rails::plan_rails(subject.node).rails == std::vector<std::size_t>{0, 1, 2});
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].nic == "mlx5_3");
    CHECK(findings[0].what == "200 of 400 Gb/s");
}

TEST_CASE("no machine on record has a NIC that must be a rail and is none", "[health][corpus]") {
    RAILHEAD_NEED_CORPUS();
    unsigned nodes = 0;
    for (const auto& [folder, suffix] :
         {std::pair{"hwloc-xml", ".xml"}, {"nccl-topo", ".xml"}, {"topo-m", ".txt"}}) {
        for (const auto& name : railhead::test::list_corpus(folder, suffix)) {
            CAPTURE(folder, name);
            const auto text = railhead::test::read_corpus(std::string{folder} + "/" + name);
            const auto node = node::parse_node(text, name);
            if (!node) {
                continue;  // a README, or what is refused by its own test
            }
            ++nodes;
            const auto plan = rails::plan_rails(*node);
            const auto watched = rails::watched_nics(*node, plan, false);
            CHECK(std::ranges::all_of(watched, [&](std::size_t nic) {
                return std::ranges::find(plan.rails, nic) != plan.rails.end();
            }));
        }
    }
    CHECK(nodes > 50);
}

TEST_CASE("a slower NIC that the node can do without is no finding", "[health]") {
    struct Case {
        std::string why;
        std::function<void(node::Node&)> change;
    };
    const auto c = GENERATE(values<Case>({
        {"no GPU is nearer to it than to a rail",
         [](auto& node) {
             for (auto& row : node.paths) {
                 row[3] = Path::node;
             }
             node.paths[3][2] = Path::pix;
         }},
        {"another device: a NIC for storage", [](auto& node) { node.nics[3].kind = "15b3:101b"; }},
        {"a virtual function", [](auto& node) { node.nics[3].virtual_function = true; }},
    }));
    CAPTURE(c.why);
    Subject subject;
    subject.node.nics[3].gbit_per_s = 200;
    c.change(subject.node);
    CHECK(judge(subject).empty());
}

TEST_CASE("devices of unknown kinds are no measure for each other's PCIe links", "[health]") {
    Subject subject;
    for (auto& nic : subject.node.nics) {
        nic.kind.clear();  // as `nvidia-smi topo -m` leaves it
    }
    subject.change_ports = [](auto& ports) { ports[1].pcie = node::PcieLink{16, 16}; };
    CHECK(judge(subject).empty());
}

TEST_CASE("the site's own list is looked at and nothing else", "[health]") {
    Subject subject;
    subject.node.nics[3].gbit_per_s = 200;
    subject.declared = {"mlx5_0", "mlx5_1", "mlx5_9:1"};
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].nic == "mlx5_9");
    CHECK(findings[0].what == "missing");
    CHECK_THAT(findings[0].remedy, ContainsSubstring("the site's list has it"));
}

TEST_CASE("a device that no program can open is told before its port is judged", "[health]") {
    Subject subject;
    subject.unusable = {{"mlx5_1", "cannot be opened: Permission denied"}};
    subject.change_ports = [](auto& ports) { ports[1].state = PortState::down; };
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].nic == "mlx5_1");
    CHECK(findings[0].what == "cannot be opened: Permission denied");
}

TEST_CASE("devices that could not be tried are advice, and their ports are judged", "[health]") {
    Subject subject;
    subject.unusable = {{"", "libibverbs has no driver for the rails"}};
    subject.change_ports = [](auto& ports) { ports[1].state = PortState::down; };
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].severity == Severity::advice);
    CHECK(findings[1].what == "port 1 down");
}

TEST_CASE("GPUs are counted where their number is known", "[health]") {
    const auto [gpus, what] = GENERATE(table<std::optional<unsigned>, std::string>({
        {std::nullopt, ""},
        {4U, ""},
        {3U, ""},  // more than Slurm is told of is the site's business
        {8U, "4 of 8 GPUs"},
    }));
    Subject subject;
    subject.gpus = gpus;
    const auto findings = judge(subject);
    CHECK((findings.empty() ? "" : findings[0].what) == what);
}

TEST_CASE("a GPU node without rails gets advice, since it may be meant so", "[health]") {
    Subject subject;
    subject.node.nics.clear();
    subject.node.paths.assign(4, {});
    const auto findings = judge(subject);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::advice);
    CHECK(findings[0].what == "no rails");

    subject.node = {};
    CHECK(judge(subject).empty());  // no GPU either: a login node
}

TEST_CASE("a port whose state is not told is not judged by it", "[health]") {
    Subject subject;
    subject.change_ports = [](auto& ports) {
        ports[0].state = PortState::unknown;
        ports[0].gbit_per_s.reset();
        ports[0].link_layer = LinkLayer::unknown;
        ports[0].pcie.reset();
    };
    CHECK(judge(subject).empty());
}

// ---- below a root path --------------------------------------------------------------------

TEST_CASE("a node is looked at in a child that leaves nothing behind", "[health][check]") {
    const railhead::test::SysfsTree tree;
    const auto node = four_rails();
    const auto plan = rails::plan_rails(node);
    tree.add_ports(node.nics);
    CHECK(rails::check_health(node, plan, {.root = tree.root()})->empty());

    tree.write_port("mlx5_3", "state", "1: DOWN");
    tree.write_port("mlx5_1", "rate", "200 Gb/sec (2X NDR)");
    tree.remove("sys/class/infiniband/mlx5_0");
    const auto found =
        rails::check_health(node, plan, {.root = tree.root(), .try_devices = [](const auto& ports) {
                                             std::vector<node::UnusableDevice> unusable;
                                             for (const auto& [nic, number] : ports) {
                                                 if (nic != "mlx5_3") {
                                                     unusable.push_back({nic, "asked"});
                                                 }
                                             }
                                             return unusable;
                                         }});
    REQUIRE(found);
    CHECK(rails::health_line(*found) ==
          "mlx5_0 missing; mlx5_1 asked; mlx5_2 asked; mlx5_3 port 1 down");
}

TEST_CASE("a device that never answers does not hold the caller", "[health][check][errors]") {
    const railhead::test::SysfsTree tree;
    const auto node = four_rails();
    const auto found =
        rails::check_health(node, rails::plan_rails(node),
                            {.root = tree.root(),
                             .try_devices = [](const auto&) -> std::vector<node::UnusableDevice> {
                                 ::pause();
                                 return {};
                             },
                             .limit = std::chrono::milliseconds{50}});
    REQUIRE_FALSE(found);
    CHECK(found.error().message == "no answer from the NICs of this node in 50 ms");
}
