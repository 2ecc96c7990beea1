// What sysfs adds to a Node.
#include <string>
#include <vector>

#include "node/sysfs.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"
#include "support/sysfs_tree.hpp"

namespace node = railhead::node;
using node::Path;
using railhead::to_string;
using Tree = railhead::test::SysfsTree;

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
