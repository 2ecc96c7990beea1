// Which NICs are no rails, by their kind, their rate, their place and the port of their card.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "rails/rail_plan.hpp"
#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
using namespace railhead::test::matrices;
using railhead::rails::plan_rails;
using railhead::test::node_with;

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
