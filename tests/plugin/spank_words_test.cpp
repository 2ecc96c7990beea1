// Whose word counts at launch: the user's, that of the node's files or the site's.
#include <string>

#include "plugin/spank_host.hpp"
#include "support/paths.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

TEST_CASE("the user's variables, /etc/nccl.conf and the user's file win", "[plugin]") {
    const OwnMask mask;
    const TempDir folder;
    auto& job = step("0", 1, 0);
    SECTION("environment") {
        job.environment["NCCL_IB_HCA"] = "mlx5_2";
        job.environment["UCX_NET_DEVICES"] = "all";
        Plugin plugin;
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "mlx5_2");
        CHECK(variable("UCX_NET_DEVICES") == "all");
    }
    SECTION("the node's file") {
        const auto conf = folder.write("nccl.conf", "NCCL_IB_HCA==mlx5_2\n");
        Plugin plugin{
            {"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"), "nccl_conf=" + conf}};
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
    }
    SECTION("the user's file, which srun has seen") {
        job.environment["RAILHEAD_NCCL_CONF"] = "NCCL_IB_HCA,UCX_NET_DEVICES";
        Plugin plugin;
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("UCX_NET_DEVICES") == "(unset)");
    }
}

TEST_CASE("no node reads a home directory at launch", "[plugin]") {
    const OwnMask mask;
    const TempDir home;
    home.write(".nccl.conf", "NCCL_IB_HCA==mlx5_2\n");
    auto& job = step("0", 1, 0);
    job.environment["HOME"] = home.path();
    job.environment["NCCL_CONF_FILE"] = home.path(".nccl.conf");
    const ScopedVariable own{"HOME", home.path()};
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);  // srun has noted nothing
}

TEST_CASE("every off switch leaves no trace, also of the step around", "[plugin]") {
    const OwnMask mask;
    const auto before = OwnMask::now();
    const auto* const how = GENERATE("option", "variable", "copy of sbatch");
    CAPTURE(how);
    const auto outer = environment_of_step("0");
    mask.restore();
    auto& job = step("0", 1, 0);
    job.environment.insert(outer.begin(), outer.end());
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    if (how == std::string{"option"}) {
        REQUIRE(job.options.at(0).take(job.options.at(0).value, "off", 1) == 0);
    } else {
        job.environment[how == std::string{"variable"} ? "RAILHEAD" : "SLURM_SPANK_RAILHEAD"] =
            "off";
    }
    REQUIRE(plugin.user_init() == 0);
    REQUIRE(plugin.task_init() == 0);
    CHECK(traces().empty());
    CHECK(OwnMask::now() == before);
}

TEST_CASE("a site that does not let jobs turn the plugin off is obeyed", "[plugin]") {
    const OwnMask mask;
    auto& job = step("0", 1, 0);
    job.environment["RAILHEAD"] = "off";
    job.environment["RAILHEAD_RAIL"] = "off";
    Plugin plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"), "user_off=false"}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_HCA") != "(unset)");
}

TEST_CASE("NICs and CPUs can be switched off by themselves", "[plugin]") {
    const OwnMask mask;
    auto& job = step("0", 1, 0);
    Plugin plugin;
    SECTION("NICs") {
        job.environment["RAILHEAD_RAIL"] = "off";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("RAILHEAD_BINDING") != "(unset)");
    }
    SECTION("CPUs") {
        const auto before = OwnMask::now();
        job.environment["RAILHEAD_GPU_AFFINITY"] = "off";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") != "(unset)");
        CHECK(variable("RAILHEAD_BINDING") == "(unset)");
        CHECK(OwnMask::now() == before);
    }
    SECTION("by plugstack.conf, and on again by the user") {
        Plugin off{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"), "rail=off"}};
        job.environment["RAILHEAD_RAIL"] = "auto";
        REQUIRE(off.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
    }
}
