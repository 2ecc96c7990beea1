// Machines of the field as matrices: which NICs are rails there, and which does each GPU use?
#include <string>
#include <vector>

#include "rails/pairing.hpp"
#include "rails/rail_plan.hpp"
#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/nodes.hpp"

namespace node = railhead::node;
namespace rails = railhead::rails;
using namespace railhead::test::matrices;
using railhead::test::node_with;
using rails::plan_rails;

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
