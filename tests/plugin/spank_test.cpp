// What the plugin does for a task, and where it has the node from.
#include <cstdint>
#include <string>

#include "node/neutral.hpp"
#include "plugin/spank_host.hpp"
#include "support/paths.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::TempDir;

TEST_CASE("the launch plugin names itself and the Slurm that it is for", "[plugin]") {
    const Plugin plugin;
    CHECK(std::string{plugin.symbol<const char>("plugin_name")} == "railhead");
    CHECK(std::string{plugin.symbol<const char>("plugin_type")} == "spank");
    CHECK(*plugin.symbol<const unsigned int>("plugin_version") == SLURM_VERSION_NUMBER);
}

// ---- a task -------------------------------------------------------------------------------

TEST_CASE("each task gets its NIC, its CPUs and the job's list of rails", "[plugin]") {
    const OwnMask mask;
    if (!mask.has_two()) {
        SKIP("needs CPUs 0 and 1");
    }
    const auto [local_id, nic, cpus] = GENERATE(table<std::uint32_t, std::string, std::string>({
        {0, "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1", "0"},
        {1, "mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1", "1"},
    }));
    CAPTURE(local_id);
    step("0-7", 2, local_id);
    Plugin plugin;

    REQUIRE(plugin.run_step() == 0);

    CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
    CHECK(variable("RAILHEAD_RAILS") == eight_rails);
    CHECK(variable("UCX_NET_DEVICES") == nic);
    CHECK(variable("RAILHEAD_NIC") == nic);
    CHECK(variable("RAILHEAD_CPUS") == cpus);
    CHECK(variable("RAILHEAD_BINDING") == "gpu");
    CHECK(OwnMask::now() == cpus);
    CHECK(variable("CUDA_VISIBLE_DEVICES") == "0-7");  // what the task sees is never narrowed
    CHECK(job().log.empty());
}

TEST_CASE("Slurm's own masks do not stand in the way, the user's do", "[plugin]") {
    const OwnMask mask;
    if (!mask.has_two()) {
        SKIP("needs CPUs 0 and 1");
    }
    // GPU 4 is near CPU 1, and Slurm dealt its task CPU 0.
    auto& job = step("0,4", 2, 1);
    Plugin plugin;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);

    SECTION("Slurm's") {
        REQUIRE(plugin.init() == 0);
        REQUIRE(plugin.user_init() == 0);
        job.environment["SLURM_CPU_BIND_TYPE"] = "mask_cpu:";
        job.environment["SLURM_CPU_BIND_LIST"] = "0x2,0x1";
        ::sched_setaffinity(0, sizeof first, &first);
        REQUIRE(plugin.task_init() == 0);
        CHECK(OwnMask::now() == "1");
        CHECK(variable("RAILHEAD_BINDING") == "gpu");
    }
    SECTION("the user's: srun has the variable before Slurm sets its own") {
        job.environment["SLURM_CPU_BIND_TYPE"] = "mask_cpu:";
        job.environment["SLURM_CPU_BIND_LIST"] = "0x2,0x1";
        ::sched_setaffinity(0, sizeof first, &first);
        REQUIRE(plugin.run_step() == 0);
        CHECK(OwnMask::now() == "0");
        CHECK(variable("RAILHEAD_BINDING") == "none: --cpu-bind was given");
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_4:1");
    }
}

TEST_CASE("what srun says about --cpu-bind is told from what follows of other options",
          "[plugin]") {
    const OwnMask mask;
    struct Case {
        std::string why, type, list, noted;
        bool bound_by_user;
    };
    const auto c = GENERATE(values<Case>({{"--cpu-bind=cores", "cores", "cores", "", true},
                                          {"--cpu-bind=none", "none", "", "", true},
                                          {"--cpu-bind=rank", "rank", "", "", true},
                                          {"--cpu-bind=map_cpu:0,1", "map_cpu:", "0,1", "", true},
                                          {"--cpu-bind=verbose", "", "verbose", "", false},
                                          {"--hint=nomultithread", "threads", "", "", false},
                                          {"SLURM_CPU_BIND=cores", "cores", "", "user", true}}));
    CAPTURE(c.why);
    auto& job = step("0", 1, 0);
    job.environment["SLURM_CPU_BIND_TYPE"] = c.type;
    job.environment["SLURM_CPU_BIND_LIST"] = c.list;
    if (!c.noted.empty()) {
        job.environment["RAILHEAD_CPU_BIND"] = c.noted;
    }
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK((variable("RAILHEAD_BINDING") == "none: --cpu-bind was given") == c.bound_by_user);
}

TEST_CASE("a task with all GPUs keeps its mask and gets a map", "[plugin]") {
    const OwnMask mask;
    step("0-7", 1, 0);
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("RAILHEAD_BINDING") == "none: it has all GPUs of the step");
    CHECK(variable("RAILHEAD_CPUS") == "(unset)");
    CHECK_THAT(variable("RAILHEAD_GPU_MAP"), ContainsSubstring(R"({"gpu":7,"visible":"7","index":7,)"));
    CHECK(variable("UCX_NET_DEVICES") == eight_rails);
}

TEST_CASE("batch and interactive steps are not bound and get nothing of one task", "[plugin]") {
    const OwnMask mask;
    const auto before = OwnMask::now();
    const auto [id, reason] = GENERATE(table<std::uint32_t, std::string>(
        {{batch_step, "none: batch step"}, {interactive_step, "none: interactive step"}}));
    auto& job = step("0", 1, 0);
    job.environment = {{"SLURM_JOB_GPUS", "0,1"}, {"CUDA_VISIBLE_DEVICES", "0,1"}};
    job.items[S_JOB_STEPID] = id;
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(OwnMask::now() == before);
    CHECK(variable("RAILHEAD_BINDING") == reason);
    CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
    CHECK(variable("UCX_NET_DEVICES") == "(unset)");
    CHECK(variable("RAILHEAD_NIC") == "(unset)");
}

TEST_CASE("a step inside does not inherit the answers of the step around it", "[plugin]") {
    const OwnMask mask;
    const auto outer = environment_of_step("0");
    REQUIRE(outer.at("UCX_NET_DEVICES") == "mlx5_0:1");
    auto& job = step("4", 1, 0);
    job.environment.insert(outer.begin(), outer.end());
    job.environment["RAILHEAD_GPU_MAP"] = "[]";
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("UCX_NET_DEVICES") == "mlx5_4:1");
    CHECK(variable("RAILHEAD_GPU_MAP") == "(unset)");
}

TEST_CASE("a step without GPUs is left as stock Slurm would", "[plugin]") {
    fake_spank::reset().items = {{S_JOB_STEPID, 0}, {S_TASK_ID, 0}};
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(job().environment.empty());
    CHECK(job().log.empty());
}

TEST_CASE("a step whose lists give no GPU does not pay for a look at the node", "[plugin]") {
    const auto list = GENERATE(values<std::string>({"", "NoDevFiles", "-1", "none", "void"}));
    CAPTURE(list);
    auto& job = fake_spank::reset();
    job.items = {{S_JOB_STEPID, 0}, {S_TASK_ID, 0}};
    job.environment = {{"CUDA_VISIBLE_DEVICES", list}, {"ROCR_VISIBLE_DEVICES", list}};
    SECTION("Slurm gives none") {}
    SECTION("Slurm gives an empty list") {
        job.environment["SLURM_STEP_GPUS"] = "";
    }
    Plugin plugin{{"topology=/nonexistent/node.xml"}};  // a look would be logged
    REQUIRE(plugin.run_step() == 0);
    CHECK(job.log.empty());
    CHECK(traces().empty());
}

// ---- where the node is from ----------------------------------------------------------------

TEST_CASE("a recording or a matrix stands for the machine as hwloc's XML does", "[plugin]") {
    const OwnMask mask;
    const TempDir folder;
    step("0", 1, 0);
    SECTION("what railhead node record writes") {
        const auto capture = folder.write(
            "node", railhead::node::capture_text(railhead::node::make_neutral(
                        railhead::test::recorded_node("two-cpu-8gpu.xml"), {})));
        Plugin plugin{{"topology=" + capture}};
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
    }
    SECTION("nvidia-smi topo -m") {
        Plugin plugin{{"topology=" + railhead::test::data_file("topo-m/whole.txt")}};
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_3:1");
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
    }
    SECTION("a matrix without names") {
        Plugin plugin{{"topology=" + railhead::test::data_file("topo-m/no-legend.txt")}};
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("RAILHEAD_NIC") == "(unset)");
    }
}
