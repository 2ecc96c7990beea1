// Machines of the field as matrices: which NICs are rails there, and which does each GPU use?
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "rails/pairing.hpp"
#include "rails/rail_plan.hpp"
#include "support/catch.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using node::LinkLayer;
using node::Path;
using railhead::test::node_with;
using rails::plan_rails;

namespace {

/// "PIX NODE / NODE PIX": a row a GPU.
std::vector<std::vector<Path>> matrix(std::string_view text) {
    std::vector<std::vector<Path>> rows;
    for (const auto row : railhead::split(text, '/')) {
        auto& paths = rows.emplace_back();
        for (const auto word : railhead::split_words(row)) {
            for (const auto path : {Path::pix, Path::pxb, Path::phb, Path::node, Path::sys}) {
                if (to_string(path) == word) {
                    paths.push_back(path);
                }
            }
        }
    }
    return rows;
}

/// A machine of two sockets whose switches have so many GPUs and NICs each.
struct Switches {
    unsigned gpus = 8, gpus_each = 1, nics = 8, nics_each = 1;
    Path near = Path::pix, socket = Path::node;
};

std::vector<std::vector<Path>> matrix(const Switches& shape) {
    const auto switches = shape.gpus / shape.gpus_each;
    std::vector<std::vector<Path>> rows;
    for (unsigned gpu = 0; gpu < shape.gpus; ++gpu) {
        auto& row = rows.emplace_back();
        for (unsigned nic = 0; nic < shape.nics; ++nic) {
            const auto of_gpu = gpu / shape.gpus_each;
            const auto of_nic = nic / shape.nics_each;
            const bool together = of_gpu * 2 / switches == of_nic * 2 / switches;
            row.push_back(of_gpu == of_nic ? shape.near : together ? shape.socket : Path::sys);
        }
    }
    return rows;
}

/// More NICs on socket 0, below no switch of a GPU.
void add_far(node::Node& node, unsigned count, double gbit_per_s, LinkLayer layer) {
    for (; count > 0; --count) {
        auto nic = node.nics[0];
        nic.name = fmt::format("far{}", count);
        nic.gbit_per_s = gbit_per_s;
        nic.link_layer = layer;
        node.nics.push_back(nic);
        for (std::size_t gpu = 0; gpu < node.paths.size(); ++gpu) {
            node.paths[gpu].push_back(gpu < node.paths.size() / 2 ? Path::node : Path::sys);
        }
    }
}

/// Names as a driver gives them, "{}" being the number, and its PCI device.
node::Node named(node::Node node, std::string_view pattern, const std::string& kind) {
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
        node.nics[i].name = fmt::format(fmt::runtime(pattern), i);
        node.nics[i].kind = kind;
    }
    return node;
}

/// "0 1 / 2": the positions of each GPU's NICs.
std::string pairs(const rails::RailPlan& plan) {
    std::vector<std::string> gpus;
    for (const auto& gpu : plan.gpus) {
        gpus.push_back(fmt::format("{}", fmt::join(gpu.nics, " ")));
    }
    return fmt::format("{}", fmt::join(gpus, " / "));
}

std::string rails_text(const rails::RailPlan& plan) {
    return fmt::format("{}", fmt::join(plan.rails, " "));
}

/// The one reason for which all NICs that are no rails are left out.
std::string reason(const rails::RailPlan& plan) {
    std::string text;
    for (const auto& left_out : plan.left_out) {
        text = text.empty() || text == left_out.reason ? left_out.reason : "several";
    }
    return text;
}

}  // namespace

// ---- whole machines -----------------------------------------------------------------------

TEST_CASE("machines that clouds and vendors sell get the rails of their drawings", "[rails]") {
    struct Machine {
        std::string name;
        Switches shape;
        std::string driver, kind;
        std::string pairs;
    };
    const auto machine = GENERATE(values<Machine>({
        {"DGX A100: a switch has two GPUs and two NICs",
         {8, 2, 8, 2, Path::pxb, Path::node},
         "mlx5_{}",
         "15b3:101b",
         "0 / 1 / 2 / 3 / 4 / 5 / 6 / 7"},
        {"HGX B200",
         {8, 1, 8, 1, Path::pix, Path::node},
         "mlx5_{}",
         "15b3:1021",
         "0 / 1 / 2 / 3 / 4 / 5 / 6 / 7"},
        {"GB200: two NICs a Grace, and no switch with a GPU",
         {4, 2, 4, 2, Path::node, Path::node},
         "mlx5_{}",
         "15b3:1021",
         "0 / 1 / 2 / 3"},
        {"MI300X with Broadcom NICs",
         {8, 1, 8, 1, Path::pxb, Path::node},
         "bnxt_re{}",
         "14e4:1760",
         "0 / 1 / 2 / 3 / 4 / 5 / 6 / 7"},
        {"MI250X: a Slingshot NIC for two dies",
         {8, 2, 4, 1, Path::phb, Path::sys},
         "cxi{}",
         "17db:0501",
         "0 / 0 / 1 / 1 / 2 / 2 / 3 / 3"},
        {"p4d: an EFA for two GPUs",
         {8, 2, 4, 1, Path::pix, Path::phb},
         "rdmap{}s27",
         "1d0f:efa1",
         "0 / 0 / 1 / 1 / 2 / 2 / 3 / 3"},
        {"p5: four EFAs a GPU",
         {8, 1, 32, 4, Path::pix, Path::node},
         "rdmap{}s0",
         "1d0f:efa2",
         "0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15 / 16 17 18 19 / 20 21 22 23 / 24 25 26 27 / "
         "28 29 30 31"},
        {"OCI H100: two ports a GPU",
         {8, 1, 16, 2, Path::pxb, Path::node},
         "mlx5_{}",
         "15b3:1021",
         "0 1 / 2 3 / 4 5 / 6 7 / 8 9 / 10 11 / 12 13 / 14 15"},
        {"Azure ND: SR-IOV functions without their card",
         {8, 2, 8, 2, Path::pix, Path::phb},
         "mlx5_ib{}",
         "15b3:101c",
         "0 / 1 / 2 / 3 / 4 / 5 / 6 / 7"},
        {"Azure MANA",
         {8, 1, 8, 1, Path::phb, Path::node},
         "mana_{}",
         "1414:00ba",
         "0 / 1 / 2 / 3 / 4 / 5 / 6 / 7"},
        {"a server with Intel's RoCE",
         {4, 2, 2, 1, Path::phb, Path::sys},
         "irdma{}",
         "8086:159b",
         "0 / 0 / 1 / 1"},
        {"Omni-Path", {4, 2, 2, 1, Path::phb, Path::sys}, "hfi1_{}", "8086:24f0", "0 / 0 / 1 / 1"},
        {"an old one with ConnectX-3",
         {8, 8, 1, 1, Path::phb, Path::phb},
         "mlx4_{}",
         "15b3:1003",
         "0 / 0 / 0 / 0 / 0 / 0 / 0 / 0"},
    }));
    CAPTURE(machine.name);
    auto node = named(node_with(matrix(machine.shape)), machine.driver, machine.kind);
    const auto alone = plan_rails(node);
    CHECK(alone.left_out.empty());
    CHECK(pairs(alone) == machine.pairs);

    add_far(node, 2, 100, LinkLayer::ethernet);  // the front end, where the machine has one
    const auto with_front_end = plan_rails(node);
    CHECK(with_front_end.rails == alone.rails);
    CHECK(pairs(with_front_end) == machine.pairs);
    CHECK(with_front_end.left_out.size() == 2);
}

TEST_CASE("matrices that people posted are paired as they should be", "[rails]") {
    struct Matrix {
        std::string why, paths, rails, pairs;
    };
    const auto m = GENERATE(values<Matrix>({
        {"A800: only GPUs 1, 3 and 7 have a NIC of their own, GPU 7 two",
         "NODE NODE SYS SYS / PIX NODE SYS SYS / NODE NODE SYS SYS / NODE PIX SYS SYS /"
         "SYS SYS NODE NODE / SYS SYS NODE NODE / SYS SYS NODE NODE / SYS SYS PIX PIX",
         "0 1 2 3", "0 / 0 / 1 / 1 / 2 / 3 / 2 / 2 3"},
        {"H100: NICs in another order than GPUs, and 2 functions on the other socket",
         "SYS SYS PIX NODE NODE NODE / SYS SYS NODE NODE PHB PIX / SYS SYS NODE NODE PIX PHB /"
         "SYS SYS NODE PIX NODE NODE",
         "2 3 4 5", "2 / 5 / 4 / 3"},
        {"H100 with SNC: NIC 3 is beside a GPU by NODE only",
         "PIX NODE NODE SYS SYS / NODE PIX NODE SYS SYS / NODE NODE PIX SYS SYS / SYS SYS SYS NODE "
         "PIX",
         "0 1 2 4", "0 / 1 / 2 / 4"},
        {"a virtual machine: mirrored",
         "SYS SYS NODE PIX / SYS SYS PIX NODE / NODE PIX SYS SYS / PIX NODE SYS SYS", "0 1 2 3",
         "3 / 2 / 1 / 0"},
        {"a virtual machine: a flat bus on each socket",
         "SYS PIX SYS PIX / SYS PIX SYS PIX / PIX SYS PIX SYS / PIX SYS PIX SYS", "0 1 2 3",
         "1 / 3 / 0 / 2"},
        {"A800: GPU 0 has none, and takes a share of each neighbour's",
         "NODE NODE NODE NODE / NODE NODE PIX NODE / NODE NODE NODE PIX", "2 3", "2 3 / 2 / 3"},
        {"4090: one GPU is near both NICs, the others share them across sockets",
         "SYS SYS / SYS SYS / PHB PHB / SYS SYS", "0 1", "0 / 1 / 0 1 / 0"},
        {"the columns of one socket only", "PIX PIX / PIX PIX / SYS SYS / SYS SYS", "0 1",
         "0 / 1 / 0 / 1"},
    }));
    CAPTURE(m.why);
    const auto plan = plan_rails(node_with(matrix(m.paths)));
    CHECK(rails_text(plan) == m.rails);
    CHECK(pairs(plan) == m.pairs);
}

// ---- what is no rail ----------------------------------------------------------------------

TEST_CASE("each kind of NIC that is no rail is left out by its name", "[rails]") {
    struct Case {
        std::string why;
        void (*change)(node::Nic&);
        std::string reason;
    };
    const auto c = GENERATE(values<Case>({
        {"sockets only", [](node::Nic& nic) { nic.rdma = false; },
         "a network interface without RDMA"},
        {"a function of a card that is here too",
         [](node::Nic& nic) { nic.virtual_function = true; },
         "an SR-IOV function of another NIC of this node"},
        {"a bond's member", [](node::Nic& nic) { nic.bond = "bond0"; }, "a member of bond0"},
        {"GB300: the second way to a NIC", [](node::Nic& nic) { nic.name = "mlx5_0_dma"; },
         "the data-direct function of mlx5_0"},
        {"an FPGA, down or without a rate",
         [](node::Nic& nic) {
             nic.kind = "10ee:9038";
             nic.gbit_per_s.reset();
         },
         "unknown rate and another device than the rails (10ee:9038)"},
        {"the host's own", [](node::Nic& nic) { nic.gbit_per_s = 25; },
         "25 Gb/s, rails have 400 Gb/s"},
        {"management on Ethernet", [](node::Nic& nic) { nic.link_layer = LinkLayer::ethernet; },
         "Ethernet, rails are InfiniBand"},
    }));
    CAPTURE(c.why);
    auto node = node_with(matrix("PIX PIX PIX"));
    c.change(node.nics[2]);
    const auto plan = plan_rails(node);
    CHECK(rails_text(plan) == "0 1");
    REQUIRE(plan.left_out.size() == 1);
    CHECK(plan.left_out[0].reason == c.reason);
}

TEST_CASE("eighteen functions on one socket do not outvote eight cards", "[rails]") {
    auto node = node_with(matrix(Switches{}));
    add_far(node, 18, 400, LinkLayer::infiniband);
    for (std::size_t nic = 8; nic < node.nics.size(); ++nic) {
        node.nics[nic].virtual_function = true;
    }
    CHECK(rails_text(plan_rails(node)) == "0 1 2 3 4 5 6 7");
    for (auto& nic : node.nics) {
        nic.virtual_function = false;  // a matrix of nvidia-smi does not tell
    }
    CHECK(rails_text(plan_rails(node)) == "0 1 2 3 4 5 6 7");
}

TEST_CASE("a card's functions are rails where the card is not seen", "[rails]") {
    auto node = node_with(matrix(Switches{}));  // a virtual machine: no physfn, so no flag
    CHECK(plan_rails(node).rails.size() == 8);
}

TEST_CASE("RoCE LAG devices are rails, though their interfaces are in bonds", "[rails]") {
    auto node = named(node_with(matrix(Switches{})), "mlx5_bond_{}", "15b3:1021");
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        node.nics[nic].bond = fmt::format("bond{}", nic);
        node.nics[nic].link_layer = LinkLayer::ethernet;
    }
    CHECK(plan_rails(node).rails.size() == 8);

    for (auto& nic : node.nics) {
        nic.name.replace(0, 10, "rocep");  // renamed by udev: nothing but members is there
    }
    CHECK(plan_rails(node).rails.size() == 8);
}

TEST_CASE("a bond for storage is no rail beside InfiniBand, whatever the names", "[rails]") {
    // Two nodes of one job: mlx5_2 and mlx5_3 here, mlx5_0 and mlx5_1 there, and a bond on both.
    for (const auto* const names : {"mlx5_2 mlx5_3", "mlx5_0 mlx5_1"}) {
        auto node = node_with(matrix("PIX NODE NODE / NODE PIX NODE"));
        const auto words = railhead::split_words(names);
        node.nics[0].name = words[0];
        node.nics[1].name = words[1];
        node.nics[2].name = "mlx5_bond_0";
        node.nics[2].link_layer = LinkLayer::ethernet;
        node.nics[2].bond = "bond0";
        CHECK(plan_rails(node).list == fmt::format("{}:1,{}:1", words[0], words[1]));
    }
}

TEST_CASE("the name of a data-direct device alone makes it none", "[rails]") {
    auto node = node_with(matrix("PIX PIX"));
    node.nics[1].name = "other_dma";
    CHECK(rails_text(plan_rails(node)) == "0 1");
}

TEST_CASE("where no rate is known, the device that most are is that of the rails", "[rails]") {
    auto node = node_with(matrix("PIX PIX PIX"));
    for (auto& nic : node.nics) {
        nic.gbit_per_s.reset();
    }
    node.nics[2].kind = "1d0f:efa2";
    CHECK(reason(plan_rails(node)) == "another device (1d0f:efa2) than the rails (15b3:1021)");
    node.nics[1].kind = "14e4:1760";  // three of a kind each: nobody is most
    CHECK(plan_rails(node).rails.size() == 3);
}

TEST_CASE("faster NICs farther away are the rails only when they are faster in sum", "[rails]") {
    struct Case {
        std::string why, paths;
        std::vector<std::optional<double>> rates;
        std::string rails;
    };
    const auto c = GENERATE(values<Case>({
        {"25 Gb/s beside the GPU, 200 Gb/s on the socket",
         "PIX NODE NODE / NODE NODE NODE",
         {25, 200, 200},
         "1 2"},
        {"two rails of 200 Gb/s, one 400 Gb/s for storage",
         "PIX NODE NODE / NODE PIX NODE",
         {200, 200, 400},
         "0 1"},
        {"one rail of two is down",
         "PIX NODE NODE / NODE PIX NODE",
         {200, std::nullopt, 400},
         "0 1"},
        {"all rails are down: today does not decide",
         "PIX NODE NODE / NODE PIX NODE",
         {std::nullopt, std::nullopt, 400},
         "0 1"},
        {"on the other socket they are not near", "PIX SYS SYS", {25, 200, 200}, "0"},
    }));
    CAPTURE(c.why);
    auto node = node_with(matrix(c.paths));
    for (std::size_t nic = 0; nic < node.nics.size(); ++nic) {
        node.nics[nic].gbit_per_s = c.rates[nic];
    }
    CHECK(rails_text(plan_rails(node)) == c.rails);
}

// ---- dual-port cards ----------------------------------------------------------------------

TEST_CASE("the ports of a card are rails of their own, unless nobody uses the second", "[rails]") {
    struct Case {
        std::string why;
        std::vector<bool> active;  // card 0 port 0, port 1, card 1 port 0, port 1
        std::string rails;
    };
    const auto c = GENERATE(values<Case>({
        {"all are up", {true, true, true, true}, "0 1 2 3"},
        {"second ports are down on every card", {true, false, true, false}, "0 2"},
        {"a cable is out", {true, false, true, true}, "0 1 2 3"},
        {"a whole card is down", {false, false, true, false}, "0 1 2 3"},
    }));
    CAPTURE(c.why);
    auto node = node_with(matrix("PIX PIX SYS SYS / SYS SYS PIX PIX"));
    for (std::uint8_t nic = 0; nic < 4; ++nic) {
        node.nics[nic].pci = node::PciAddress{0, static_cast<std::uint8_t>(0x10 + nic / 2), 0,
                                              static_cast<std::uint8_t>(nic % 2)};
        node.nics[nic].active = c.active[nic];
    }
    CHECK(rails_text(plan_rails(node)) == c.rails);
}

TEST_CASE("one card tells nothing of whether its second port was cabled", "[rails]") {
    auto node = node_with(matrix("PIX PIX"));
    node.nics[0].pci = node::PciAddress{0, 0x10, 0, 0};
    node.nics[1].pci = node::PciAddress{0, 0x10, 0, 1};
    node.nics[1].active = false;
    CHECK(rails_text(plan_rails(node)) == "0 1");
    node.nics[1].gbit_per_s = 200;
    CHECK(rails_text(plan_rails(node)) == "0");  // a slower one is no rail
}

// ---- against NCCL -------------------------------------------------------------------------

TEST_CASE("of equally near rails NCCL and we take those with the wider PCIe link", "[rails]") {
    auto node = node_with(matrix("PIX PIX"));
    node.nics[0].pcie_gbyte_per_s = 31.5;  // 252 Gbit/s: less than its port
    node.nics[1].pcie_gbyte_per_s = 63;
    CHECK(pairs(plan_rails(node)) == "1");
}

TEST_CASE("a near rail whose PCIe link came up narrow stays the GPU's own", "[rails]") {
    // NCCL goes past it to the wider path.  That is a fault to repair, and the map is of hardware.
    auto node = node_with(matrix("PIX NODE / NODE PIX"));
    node.nics[0].pcie_gbyte_per_s = 7.9;
    node.nics[1].pcie_gbyte_per_s = 63;
    CHECK(pairs(plan_rails(node)) == "0 / 1");
}

TEST_CASE("a near NIC of a slower class is no rail, so NCCL and we take the far one", "[rails]") {
    auto node = node_with(matrix("PIX NODE / NODE PIX"));
    node.nics[0].gbit_per_s = 100;
    const auto plan = plan_rails(node);
    CHECK(pairs(plan) == "1 / 1");
    CHECK(plan.gpus[0].path == Path::node);
}
