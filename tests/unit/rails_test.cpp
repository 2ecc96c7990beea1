#include "rails/rail_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using node::LinkLayer;
using node::Path;
using railhead::test::node_with;
using railhead::test::recorded_node;
using rails::plan_rails;

namespace {

constexpr auto pix = Path::pix;
constexpr auto pxb = Path::pxb;
constexpr auto phb = Path::phb;
constexpr auto near_socket = Path::node;
constexpr auto sys = Path::sys;

/// "mlx5_0 mlx5_1 / mlx5_2": the NICs of each GPU.
std::string pairing(const node::Node& node, const rails::RailPlan& plan) {
    std::vector<std::string> gpus;
    for (const auto& gpu : plan.gpus) {
        std::vector<std::string> nics;
        for (const auto nic : gpu.nics) {
            nics.push_back(node.nics[nic].name);
        }
        gpus.push_back(fmt::format("{}", fmt::join(nics, " ")));
    }
    return fmt::format("{}", fmt::join(gpus, " / "));
}

std::string left_out(const node::Node& node, const rails::RailPlan& plan) {
    std::vector<std::string> nics;
    for (const auto& [nic, reason] : plan.left_out) {
        nics.push_back(node.nics[nic].name + ": " + reason);
    }
    return fmt::format("{}", fmt::join(nics, "; "));
}

}  // namespace

// ---- which NICs are rails -----------------------------------------------------------------

TEST_CASE("a DGX H100 has eight rails and four NICs for storage", "[rails]") {
    const auto dgx = recorded_node("dgx-h100.xml");
    const auto plan = plan_rails(dgx);
    CHECK(plan.list == "mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1");
    CHECK(pairing(dgx, plan) ==
          "mlx5_0 / mlx5_3 / mlx5_4 / mlx5_5 / mlx5_6 / mlx5_9 / mlx5_10 / mlx5_11");
    CHECK(plan.left_out.size() == 4);
    CHECK(plan.left_out[0].reason == "NODE to the nearest GPU, rails have PXB or better");
}

TEST_CASE("near is below one host bridge, else the nearest that there is", "[rails]") {
    struct Case {
        std::string why;
        std::vector<std::vector<Path>> paths;
        std::string list, left_out;
    };
    const auto c = GENERATE(values<Case>({
        {"PIX and PXB are both near", {{pix, phb}, {sys, pxb}}, "mlx5_0:1,mlx5_1:1", ""},
        {"beside PXB, PHB is far",
         {{pxb, phb}},
         "mlx5_0:1",
         "mlx5_1: PHB to the nearest GPU, rails have PXB or better"},
        {"a flat machine: all PHB", {{phb, phb}, {phb, phb}}, "mlx5_0:1,mlx5_1:1", ""},
        {"nothing nearer than the other socket", {{sys}}, "mlx5_0:1", ""},
    }));
    CAPTURE(c.why);
    const auto node = node_with(c.paths);
    const auto plan = plan_rails(node);
    CHECK(plan.list == c.list);
    CHECK(left_out(node, plan) == c.left_out);
}

TEST_CASE("of the near NICs, the fastest class are rails", "[rails]") {
    auto node = node_with({{pix, pix, pix, pix}});
    node.nics[1].gbit_per_s = 100;
    node.nics[2].gbit_per_s.reset();  // down: the same device as the fast ones
    node.nics[3].gbit_per_s.reset();
    node.nics[3].kind = "14e4:1750";

    const auto plan = plan_rails(node);

    CHECK(plan.list == "mlx5_0:1,mlx5_2:1");
    CHECK(left_out(node, plan) ==
          "mlx5_1: 100 Gb/s, rails have 400 Gb/s; "
          "mlx5_3: unknown rate and another device than the rails (14e4:1750)");
}

TEST_CASE("where no rate is known, only a far slower PCIe link tells", "[rails]") {
    auto node = node_with({{pix, pix, pix}});
    for (auto& nic : node.nics) {
        nic.gbit_per_s.reset();
    }
    node.nics[0].pcie_gbyte_per_s = 63;
    node.nics[1].pcie_gbyte_per_s = 31.5;
    node.nics[2].pcie_gbyte_per_s = 3.9;

    const auto plan = plan_rails(node);

    CHECK(plan.list == "mlx5_0:1,mlx5_1:1");
    CHECK(left_out(node, plan) == "mlx5_2: PCIe link of 3.9 GB/s, rails have 63.0 GB/s");
}

TEST_CASE("rails have one link layer", "[rails]") {
    auto node = node_with({{pix, pix, pix}});
    node.nics[1].link_layer = LinkLayer::ethernet;
    CHECK(left_out(node, plan_rails(node)) == "mlx5_1: Ethernet, rails are InfiniBand");

    node.nics[2].link_layer = LinkLayer::ethernet;
    CHECK(left_out(node, plan_rails(node)) == "mlx5_0: InfiniBand, rails are Ethernet");

    node.nics[0].link_layer = LinkLayer::unknown;
    CHECK(left_out(node, plan_rails(node)).empty());
}

TEST_CASE("a rail that is down today is still a rail", "[rails]") {
    auto node = node_with({{pix, pix}});
    const auto healthy = plan_rails(node).list;
    node.nics[1].active = false;
    CHECK(plan_rails(node).list == healthy);
}

TEST_CASE("the site's list decides alone, and stands even where a NIC is missing", "[rails]") {
    const auto node = node_with({{pix, pix}});
    const auto plan = plan_rails(node, {"mlx5_1", "mlx5_7:1"});
    CHECK(plan.list == "mlx5_1:1,mlx5_7:1");
    CHECK(plan.missing == std::vector<std::string>{"mlx5_7"});
    CHECK(left_out(node, plan) == "mlx5_0: not in the site's list of rails");
    CHECK(pairing(node, plan) == "mlx5_1");
}

TEST_CASE("a node without GPUs has no rails, one without NICs neither", "[rails]") {
    auto no_gpu = node_with({{pix}});
    no_gpu.gpus.clear();
    no_gpu.paths.clear();
    CHECK(plan_rails(no_gpu).list.empty());
    CHECK(left_out(no_gpu, plan_rails(no_gpu)) == "mlx5_0: no GPU on this node");

    const auto no_nic = node_with({{}, {}});
    CHECK(plan_rails(no_nic).list.empty());
    CHECK(plan_rails(no_nic).gpus.size() == 2);
}

// ---- which NIC of which GPU ---------------------------------------------------------------

TEST_CASE("the nearer NIC wins, then the faster, then the least shared, then PCI order",
          "[rails]") {
    struct Case {
        std::string why;
        std::vector<std::vector<Path>> paths;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"nearer", {{pxb, pix}, {pix, pxb}}, "mlx5_1 / mlx5_0"},
        {"least shared, then PCI order", {{phb, phb}, {phb, phb}}, "mlx5_0 / mlx5_1"},
        {"fewer NICs than GPUs",
         {{pix, sys}, {pix, sys}, {sys, pix}, {sys, pix}},
         "mlx5_0 / mlx5_0 / mlx5_1 / mlx5_1"},
        {"four NICs a GPU (p5)",
         {{pix, pix, pix, pix, sys, sys, sys, sys}, {sys, sys, sys, sys, pix, pix, pix, pix}},
         "mlx5_0 mlx5_1 mlx5_2 mlx5_3 / mlx5_4 mlx5_5 mlx5_6 mlx5_7"},
        {"four NICs for two GPUs (p5en)",
         {{pix, pix, pix, pix}, {pix, pix, pix, pix}},
         "mlx5_0 mlx5_1 / mlx5_2 mlx5_3"},
        {"three NICs for two GPUs",
         {{pix, pix, pix}, {pix, pix, pix}},
         "mlx5_0 mlx5_1 / mlx5_0 mlx5_2"},
        {"a GPU without a near NIC",
         {{pix, sys}, {near_socket, sys}, {sys, pix}},
         "mlx5_0 / mlx5_0 / mlx5_1"},
        {"a flat VM: each GPU another",
         {{phb, phb, phb, phb}, {phb, phb, phb, phb}, {phb, phb, phb, phb}, {phb, phb, phb, phb}},
         "mlx5_0 / mlx5_1 / mlx5_2 / mlx5_3"},
    }));
    CAPTURE(c.why);
    const auto node = node_with(c.paths);
    CHECK(pairing(node, plan_rails(node)) == c.expected);
}

TEST_CASE("of two NICs equally near, the faster wins", "[rails]") {
    auto node = node_with({{pix, pix}});
    for (auto& nic : node.nics) {
        nic.gbit_per_s.reset();
    }
    node.nics[0].pcie_gbyte_per_s = 31.5;
    node.nics[1].pcie_gbyte_per_s = 63;
    CHECK(pairing(node, plan_rails(node)) == "mlx5_1");
}

TEST_CASE("the pairing does not depend on the CPUs that a job was given", "[rails]") {
    auto dgx = recorded_node("dgx-h100.xml");
    const auto whole = pairing(dgx, plan_rails(dgx));
    dgx.allowed = railhead::test::cpus("48-63");
    CHECK(pairing(dgx, plan_rails(dgx)) == whole);
}
