// What is said about values that match more than was meant: public reports 18, 19, 20 and 44.
#include "rails/advice.hpp"

#include <filesystem>

#include "node/interfaces.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace railhead;
using Lines = std::vector<std::string>;

rails::Surroundings machine() {
    rails::Surroundings machine;
    for (int i = 0; i < 12; ++i) {
        machine.devices.push_back("mlx5_" + std::to_string(i));
    }
    machine.interfaces.names = {"lo", "bond0", "bond0.2093", "bond0.2093.1", "eth1"};
    return machine;
}

}  // namespace

TEST_CASE("a value that matches what was not meant is flagged", "[rails][advice]") {
    struct Case {
        std::string why, variable, value;
        Lines expected;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"a prefix of three",
         "NCCL_IB_HCA",
         "mlx5_1",
         {"\"mlx5_1\" matches 3 devices: mlx5_1, mlx5_10, mlx5_11; NCCL compares beginnings, "
          "NCCL_IB_HCA==mlx5_1 means whole names"}},
        {"exact", "NCCL_IB_HCA", "=mlx5_1", {}},
        {"a prefix of one", "NCCL_IB_HCA", "mlx5_2:1", {}},
        {"all but a prefix",
         "NCCL_IB_HCA",
         "^mlx5_1",
         {"\"mlx5_1\" leaves out 3 devices: mlx5_1, mlx5_10, mlx5_11; NCCL compares beginnings, "
          "NCCL_IB_HCA=^=mlx5_1 means whole names"}},
        {"a prefix of all",
         "NCCL_IB_HCA",
         "mlx5",
         {"\"mlx5\" matches 12 devices: mlx5_0, mlx5_1, mlx5_2 and 9 more; NCCL compares "
          "beginnings, NCCL_IB_HCA==mlx5 means whole names"}},
        {"no such device", "NCCL_IB_HCA", "=mlx5_12", {"no device here is named \"mlx5_12\""}},
        {"a list", "NCCL_IB_HCA", "=mlx5_3:1,mlx5_0:1", {}},
        {"a VLAN of the interface",
         "NCCL_SOCKET_IFNAME",
         "bond0",
         {"\"bond0\" matches 3 interfaces: bond0, bond0.2093, bond0.2093.1; NCCL compares "
          "beginnings, NCCL_SOCKET_IFNAME==bond0 means whole names"}},
        {"exact", "NCCL_SOCKET_IFNAME", "=bond0", {}},
        {"Gloo has no signs",
         "GLOO_SOCKET_IFNAME",
         "=bond0",
         {"Gloo knows neither \"^\" nor \"=\": write whole names, bond0,eth1"}},
        {"Gloo takes whole names",
         "GLOO_SOCKET_IFNAME",
         "bond0,eth2",
         {"no interface here is named \"eth2\""}},
        {"UCX fails",
         "UCX_NET_DEVICES",
         "mlx5_0:1,mlx5_77:1",
         {"no device here is named \"mlx5_77\": UCX warns, or fails"}},
        {"UCX's own words", "UCX_NET_DEVICES", "all", {}},
        {"UCX's own ranges", "UCX_NET_DEVICES", "mlx5_[0-99]:1,^eth0", {}},
        {"others are none of our business", "NCCL_DEBUG", "mlx5_1", {}},
    }));
    CAPTURE(c.why, c.variable, c.value);
    CHECK(rails::advise(c.variable, c.value, machine()) == c.expected);
}

TEST_CASE("a list in NCCL_IB_HCA is said to be no map", "[rails][advice]") {
    CHECK(rails::advise_on_order("NCCL_IB_HCA", "=mlx5_3,mlx5_0") ==
          Lines{"the order of this list maps no GPU to a NIC: NCCL goes by the distance on PCI, as "
                "`railhead rails` shows it"});
    CHECK(rails::advise_on_order("NCCL_IB_HCA", "^=mlx5_3,mlx5_0").empty());
    CHECK(rails::advise_on_order("NCCL_IB_HCA", "=mlx5_3").empty());
    CHECK(rails::advise_on_order("UCX_NET_DEVICES", "mlx5_3:1,mlx5_0:1").empty());
}

TEST_CASE("on a machine that is not known, nothing is absent", "[rails][advice]") {
    for (const std::string variable :
         {"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES"}) {
        CHECK(rails::advise(variable, "mlx5_7:1", {}).empty());
    }
}

TEST_CASE("a value from outside cannot move the cursor", "[rails][advice]") {
    const auto advice = rails::advise("NCCL_IB_HCA", "\x1b[2J", machine());
    REQUIRE(advice.size() == 1);
    CHECK(advice[0].find('\x1b') == std::string::npos);
}

// ---- interfaces and routes ----------------------------------------------------------------

namespace {

constexpr const char* route_heading =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

/// eno1 and enp37s0f0 in 10.0.0.0/20, as in the report, with these metrics.
std::string two_routes(const std::string& first, const std::string& second) {
    return std::string{route_heading} +
           "eno1\t00000000\t0103000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" +
           "eno1\t0000000A\t00000000\t0001\t0\t0\t" + first + "\t00F0FFFF\t0\t0\t0\n" +
           "enp37s0f0\t0000000A\t00000000\t0001\t0\t0\t" + second + "\t00F0FFFF\t0\t0\t0\n";
}

}  // namespace

TEST_CASE("two interfaces in one network are told with both names", "[rails][advice][interfaces]") {
    CHECK(rails::advise_on_routes(node::parse_routes(two_routes("100", "100"))) ==
          Lines{"eno1 and enp37s0f0 are both in 10.0.0.0/20 with metric 100: the kernel sends by "
                "either of them, whatever interface is named; give each a network of its own, or "
                "the one that is not to be used a larger metric"});
    CHECK(rails::advise_on_routes(node::parse_routes(two_routes("100", "200"))).empty());
}

TEST_CASE("routes that are no network of an interface are left out", "[interfaces]") {
    const auto [why, line] = GENERATE(table<std::string, std::string>({
        {"down", "eth0\t0000000A\t00000000\t0000\t0\t0\t0\t00F0FFFF\t0\t0\t0"},
        {"through a gateway", "eth0\t0000000A\t0103000A\t0003\t0\t0\t0\t00F0FFFF\t0\t0\t0"},
        {"the default", "eth0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0"},
        {"cut short", "eth0\t0000000A\t00000000\t0001\t0\t0\t0"},
        {"no hexadecimal", "eth0\tXX\t00000000\t0001\t0\t0\t0\t00F0FFFF\t0\t0\t0"},
        {"empty", ""},
    }));
    CAPTURE(why);
    CHECK(node::parse_routes(route_heading + line + "\n").empty());
}

TEST_CASE("the interfaces of a recorded machine are read", "[interfaces]") {
    const test::TempDir root;
    CHECK_FALSE(node::read_interfaces(root.path()));
    std::filesystem::create_directories(root.path("proc/net"));
    root.write("proc/net/dev",
               "Inter-|   Receive\n face |bytes\n    lo: 3293020328 14765752\n  bond0.1:  0 0\n");
    root.write("proc/net/route", two_routes("0", "0"));
    const auto interfaces = node::read_interfaces(root.path());
    REQUIRE(interfaces);
    CHECK(interfaces->names == Lines{"lo", "bond0.1"});
    CHECK(interfaces->routes.size() == 2);
    CHECK(interfaces->routes[1].network == "10.0.0.0/20");
}
