#include "node/ports.hpp"
#include "support/catch.hpp"
#include "support/sysfs_tree.hpp"

namespace node = railhead::node;
using node::LinkLayer;
using node::PortState;
using railhead::test::SysfsTree;

TEST_CASE("a port that is as it should be is read whole", "[node][ports]") {
    const SysfsTree tree;
    tree.add_port("mlx5_0");

    const auto port = node::read_port(tree.root(), "mlx5_0", 1);

    CHECK(port.present);
    CHECK(port.state == PortState::active);
    CHECK(port.link_layer == LinkLayer::infiniband);
    CHECK(port.gbit_per_s == 400.0);
    CHECK_FALSE(port.has_address);  // a question for Ethernet only
    REQUIRE(port.pcie);
    CHECK(port.pcie->gt_per_s == 32.0);
    CHECK(port.pcie->lanes == 16);
}

TEST_CASE("a device or port that the kernel has not is not present", "[node][ports]") {
    const SysfsTree tree;
    tree.add_port("mlx5_0");
    CHECK_FALSE(node::read_port(tree.root(), "mlx5_1", 1).present);
    CHECK_FALSE(node::read_port(tree.root(), "mlx5_0", 2).present);
}

TEST_CASE("a port without a link shows no rate of its own", "[node][ports]") {
    const SysfsTree tree;
    tree.add_port("mlx5_0");
    tree.write_port("mlx5_0", "state", "1: DOWN");
    tree.write_port("mlx5_0", "phys_state", "2: Polling");
    tree.write_port("mlx5_0", "rate", "10 Gb/sec (4X SDR)");

    const auto port = node::read_port(tree.root(), "mlx5_0", 1);

    CHECK(port.state == PortState::down);
    CHECK(port.link == "Polling");
    CHECK(port.lid == 0x1aU);
    CHECK_FALSE(port.gbit_per_s);
}

TEST_CASE("port states are told by their number", "[node][ports]") {
    const auto [text, state] = GENERATE(table<std::string, PortState>({
        {"0: NOP", PortState::unknown},
        {"1: DOWN", PortState::down},
        {"2: INIT", PortState::initializing},
        {"3: ARMED", PortState::armed},
        {"4: ACTIVE", PortState::active},
        {"5: ACTIVE_DEFER", PortState::active},
        {"", PortState::unknown},
        {"11: NEW", PortState::unknown},
    }));
    CAPTURE(text);
    CHECK(node::parse_port_state(text) == state);
}

TEST_CASE("a RoCE port needs an address that NCCL takes", "[node][ports]") {
    struct Case {
        std::string why;
        std::vector<std::pair<std::string, std::string>> changes;
        bool has_address;
    };
    const std::string zero = "0000:0000:0000:0000:0000:0000:0000:0000";
    const auto c = GENERATE_COPY(values<Case>({
        {"an IPv4 address", {}, true},
        {"only a link-local one", {{"gids/2", zero}, {"gids/3", zero}}, false},
        {"RoCE v1 only", {{"gid_attrs/types/3", "IB/RoCE v1"}}, false},
        {"a gap in the table, which deleted addresses leave",
         {{"gids/0", zero}, {"gids/1", zero}, {"gids/2", zero}},
         true},
        {"an IPv6 address", {{"gids/3", "2001:0db8:0000:0000:0000:0000:0000:0001"}}, true},
    }));
    CAPTURE(c.why);
    const SysfsTree tree;
    tree.add_port("mlx5_0", LinkLayer::ethernet);
    for (const auto& [file, text] : c.changes) {
        tree.write_port("mlx5_0", file, text);
    }
    CHECK(node::read_port(tree.root(), "mlx5_0", 1).has_address == c.has_address);
}

TEST_CASE("where the kernel shows no addresses, none is missed", "[node][ports]") {
    const SysfsTree tree;
    tree.add_port("mlx5_0", LinkLayer::ethernet);
    tree.remove("sys/class/infiniband/mlx5_0/ports/1/gids");
    CHECK_FALSE(node::read_port(tree.root(), "mlx5_0", 1).has_address);
}

TEST_CASE("a PCIe link that is not told is not guessed", "[node][ports]") {
    const auto [file, text] = GENERATE(table<std::string, std::string>({
        {"current_link_speed", "Unknown"},
        {"current_link_speed", "fast GT/s PCIe"},
        {"current_link_width", "0"},
        {"current_link_width", "Unknown"},
    }));
    CAPTURE(file, text);
    const SysfsTree tree;
    tree.add_port("mlx5_0");
    tree.write_device("mlx5_0", file, text);
    CHECK_FALSE(node::read_port(tree.root(), "mlx5_0", 1).pcie);
}
