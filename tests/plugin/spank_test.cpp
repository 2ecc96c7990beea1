// What the plugin does for a step, and what it takes from whom.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "node/neutral.hpp"
#include "plugin/spank_host.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

TEST_CASE("the launch plugin names itself and the Slurm that it is for", "[plugin]") {
    const Plugin plugin;
    CHECK(std::string{plugin.symbol<const char>("plugin_name")} == "railhead");
    CHECK(std::string{plugin.symbol<const char>("plugin_type")} == "spank");
    CHECK(*plugin.symbol<const unsigned int>("plugin_version") == SLURM_VERSION_NUMBER);
}

namespace {

/// What a step with these GPUs leaves to the steps inside of it.
std::map<std::string, std::string> environment_of_step(const std::string& gpus) {
    step(gpus, 1, 0);
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    return job().environment;
}

/// The trust in a policy goes by the owner of slurm.conf: here, whoever runs the test.
ScopedVariable own_slurm_conf(const TempDir& folder) {
    return ScopedVariable{"SLURM_CONF", folder.write("slurm.conf", "")};
}

/// A policy that says for the node "gpu1" what `body` says.
std::string policy_file(const TempDir& folder, const std::string& body) {
    return folder.write("railhead.toml",
                        "[[node_type]]\nname = \"h100\"\nnodes = \"gpu[1-4]\"\n" + body);
}

Plugin plugin_with_policy(const std::string& file) {
    return Plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                   "nccl_conf=/nonexistent", "health=off", "policy=" + file}};
}

}  // namespace

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
        Plugin plugin{{"topology=" RAILHEAD_TEST_DATA "/topo-m/whole.txt"}};
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_3:1");
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
    }
    SECTION("a matrix without names") {
        Plugin plugin{{"topology=" RAILHEAD_TEST_DATA "/topo-m/no-legend.txt"}};
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("RAILHEAD_NIC") == "(unset)");
    }
}

// ---- the site's policy --------------------------------------------------------------------

TEST_CASE("what the policy says of the node's type reaches the task", "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "rails = [\"mlx5_0\", \"mlx5_9\"]\nrail_only = true\n"
                                          "socket_interface = \"bond0\"\n"
                                          "env = { NCCL_IB_TC = \"106\" }\n");
    auto& job = step("0", 1, 0);
    auto plugin = plugin_with_policy(file);
    SECTION("of the node that has the type") {
        job.environment["SLURM_STEP_NODELIST"] = "gpu1";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_9:1");  // mlx5_9 is not on this node
        CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
        CHECK(variable("NCCL_SOCKET_IFNAME") == "=bond0");
        CHECK(variable("GLOO_SOCKET_IFNAME") == "bond0");
        CHECK(variable("NCCL_CROSS_NIC") == "0");
        CHECK(variable("NCCL_IB_TC") == "106");
    }
    SECTION("not of another node") {
        job.environment["SLURM_STEP_NODELIST"] = "gpu5";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
        CHECK(variable("NCCL_IB_TC") == "(unset)");
    }
    SECTION("not when the job says --rail=off") {
        job.environment["SLURM_STEP_NODELIST"] = "gpu1";
        job.environment["RAILHEAD_RAIL"] = "off";
        REQUIRE(plugin.run_step() == 0);
        CHECK(variable("NCCL_IB_HCA") == "(unset)");
        CHECK(variable("NCCL_IB_TC") == "(unset)");
    }
}

TEST_CASE("the node is the one at our place of the step's list", "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "env = { NCCL_IB_TC = \"106\" }\n");
    struct Case {
        std::string why, step_list, job_list, inherited;
        std::uint32_t kind, place;
        bool has_type;
    };
    const auto c = GENERATE(values<Case>({
        {"second of the step", "cpu1,gpu2", "cpu1,gpu2", "", 0, 1, true},
        {"first of the step", "cpu1,gpu2", "cpu1,gpu2", "", 0, 0, false},
        {"srun in a batch script on another node", "cpu1", "gpu1,cpu1", "gpu1", 0, 0, false},
        {"a batch step that inherited a step's list", "cpu1", "gpu[1-2]", "cpu1", batch_step, 0, true},
        {"no list at all", "", "", "gpu1", 0, 0, false},
        {"beyond the list", "gpu1", "gpu1", "", 0, 7, false},
    }));
    CAPTURE(c.why);
    auto& job = step("0", 1, 0);
    for (const auto& [name, value] : {std::pair{"SLURM_STEP_NODELIST", c.step_list},
                                      std::pair{"SLURM_JOB_NODELIST", c.job_list},
                                      std::pair{"SLURMD_NODENAME", c.inherited}}) {
        if (!value.empty()) {
            job.environment[name] = value;
        }
    }
    job.items[S_JOB_STEPID] = c.kind;
    job.items[S_JOB_NODEID] = c.place;
    auto plugin = plugin_with_policy(file);
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    job.environment.erase("SLURMD_NODENAME");  // the batch script's; Slurm puts it right for the task
    REQUIRE(plugin.task_init() == 0);
    CHECK((variable("NCCL_IB_TC") == "106") == c.has_type);
}

TEST_CASE("a task that learns that it is on another node gets that one's type",
          "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "rails = \"mlx5_3\"\nenv = { NCCL_IB_TC = \"106\" }\n");
    const auto [from, to, rails, extra] =
        GENERATE(table<std::string, std::string, std::string, std::string>({
            {"cpu1", "gpu1", "mlx5_3:1", "106"},
            {"gpu1", "cpu1", eight_rails, "(unset)"},
        }));
    auto& job = step("0", 1, 0);
    job.environment["SLURM_STEP_NODELIST"] = from;
    auto plugin = plugin_with_policy(file);
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    job.environment["SLURMD_NODENAME"] = to;
    REQUIRE(plugin.task_init() == 0);
    CHECK(variable("NCCL_IB_HCA") == "=" + rails);
    CHECK(variable("NCCL_IB_TC") == extra);
}

TEST_CASE("what the policy says holds on a node that cannot be read", "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    const auto file = policy_file(folder, "env = { NCCL_IB_TC = \"106\" }\n");
    step("0", 1, 0).environment["SLURM_STEP_NODELIST"] = "gpu1";
    Plugin plugin{{"topology=/nonexistent", "policy=" + file}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_TC") == "106");
    CHECK(variable("NCCL_IB_HCA") == "(unset)");
}

TEST_CASE("a policy that cannot be trusted or read is logged once, and the step goes on without",
          "[plugin][node_type]") {
    const OwnMask mask;
    const TempDir folder;
    const auto slurm_conf = own_slurm_conf(folder);
    auto file = policy_file(folder, "env = { NCCL_IB_TC = \"106\" }\n");
    std::string expected;
    SECTION("written by others") {
        std::filesystem::permissions(file, std::filesystem::perms::others_write,
                                     std::filesystem::perm_options::add);
        expected = "can be written by others";
    }
    SECTION("broken") {
        policy_file(folder, "memory = \"near\"\nrails = 3\n");
        expected = "railhead.toml:4:10: expected one of \"prefer\", \"bind\", \"off\", not \"near\", "
                   "and 1 more error: going on without the policy";
    }
    SECTION("broken where submission is meant") {
        policy_file(folder, "[gang]\nmode = \"no\"\n");
        expected = "going on without the policy";
    }
    SECTION("named, and not there") {
        file = folder.path("absent.toml");
        expected = "there is no policy";
    }
    step("0", 1, 0).environment["SLURM_STEP_NODELIST"] = "gpu1";
    auto plugin = plugin_with_policy(file);
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_TC") == "(unset)");
    CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
    REQUIRE(job().log.size() == 1);
    CHECK_THAT(job().log.front(), ContainsSubstring(expected));
}

// ---- whose word counts --------------------------------------------------------------------

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

// ---- srun, sbatch, salloc -----------------------------------------------------------------

TEST_CASE("the options are the same in every command and in slurmstepd", "[plugin]") {
    const auto context = GENERATE(S_CTX_LOCAL, S_CTX_ALLOCATOR, S_CTX_REMOTE);
    auto& job = fake_spank::reset();
    job.context = context;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    std::vector<std::string> names;
    for (const auto& option : job.options) {
        names.push_back(option.name);
        CHECK(option.help.starts_with("[railhead] "));
    }
    CHECK(names == std::vector<std::string>{"railhead", "rail", "gpu-affinity", "mp-group",
                                                "ckpt-interval", "ckpt-signal", "ckpt-dir"});
}

TEST_CASE("slurmd and its scripts get no options", "[plugin]") {
    auto& job = fake_spank::reset();
    job.context = GENERATE(S_CTX_SLURMD, S_CTX_JOB_SCRIPT);
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    CHECK(job.options.empty());
}

TEST_CASE("an option takes its values and refuses others by name", "[plugin]") {
    auto& job = fake_spank::reset();
    job.context = S_CTX_LOCAL;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    const auto take = [&](std::size_t option, const char* value) {
        return job.options.at(option).take(job.options.at(option).value, value, 0);
    };
    CHECK(take(0, "on") == 0);
    CHECK(take(1, "auto") == 0);
    CHECK(take(2, "OFF") == 0);
    CHECK(take(3, "8") == 0);
    CHECK(take(0, "of") == -1);
    CHECK(job.has_logged("error: railhead: --railhead=of: takes on|off"));
    CHECK(take(3, "0") == -1);
    CHECK(job.has_logged("error: railhead: --mp-group=0: takes a whole number from 1"));
    CHECK(take(3, "many") == -1);
    CHECK(take(1, nullptr) == -1);
}

TEST_CASE("what the user set reaches slurmctld's plugin", "[plugin]") {
    auto& job = fake_spank::reset();
    job.context = GENERATE(S_CTX_LOCAL, S_CTX_ALLOCATOR);
    const ScopedVariable off{"RAILHEAD", "off"};
    const ScopedVariable group{"RAILHEAD_MP_GROUP", "8"};
    const ScopedVariable home{"HOME", "/nonexistent"};
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    CHECK(job.control ==
          std::map<std::string, std::string>{{"RAILHEAD", "off"}, {"RAILHEAD_MP_GROUP", "8"}});
}

TEST_CASE("srun notes what the user's own NCCL file sets, so that no node reads it", "[plugin]") {
    const TempDir home;
    const ScopedVariable variable_home{"HOME", home.path()};
    const ScopedVariable noted{"RAILHEAD_NCCL_CONF", "left from before"};
    fake_spank::reset().context = S_CTX_LOCAL;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    SECTION("no file") {
        REQUIRE(plugin.post_opt() == 0);
        CHECK(std::getenv("RAILHEAD_NCCL_CONF") == nullptr);
    }
    SECTION("~/.nccl.conf") {
        home.write(".nccl.conf", "NCCL_DEBUG=INFO\nNCCL_IB_HCA==mlx5_0\n");
        REQUIRE(plugin.post_opt() == 0);
        CHECK(std::getenv("RAILHEAD_NCCL_CONF") == std::string{"NCCL_DEBUG,NCCL_IB_HCA"});
    }
    SECTION("NCCL_CONF_FILE") {
        home.write(".nccl.conf", "NCCL_IB_HCA==mlx5_0\n");
        const ScopedVariable file{"NCCL_CONF_FILE", home.write("own", "UCX_NET_DEVICES=all\n")};
        REQUIRE(plugin.post_opt() == 0);
        CHECK(std::getenv("RAILHEAD_NCCL_CONF") == std::string{"UCX_NET_DEVICES"});
    }
}

TEST_CASE("srun notes that the user bound the tasks", "[plugin]") {
    const auto [value, noted] = GENERATE(table<std::string, bool>(
        {{"none", true}, {"cores", true}, {"verbose", false}, {"quiet", false}, {"", false}}));
    CAPTURE(value);
    const ScopedVariable home{"HOME", "/nonexistent"};
    const ScopedVariable old{"RAILHEAD_CPU_BIND", "left from before"};
    const ScopedVariable bind{"SLURM_CPU_BIND", value};
    fake_spank::reset().context = S_CTX_LOCAL;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    CHECK((std::getenv("RAILHEAD_CPU_BIND") != nullptr) == noted);
}

TEST_CASE("a misspelt plugstack argument is refused by the commands", "[plugin]") {
    const auto context = GENERATE(S_CTX_LOCAL, S_CTX_ALLOCATOR);
    const auto ended = in_child([&] {
        fake_spank::job().context = context;
        Plugin plugin{{"strickt=true"}};
        plugin.init();
    });
    CHECK(ended.status == 1);
    CHECK(ended.log ==
          "error: railhead: plugstack.conf: unknown key in plugstack argument 'strickt=true': did "
          "you mean 'strict'?\n");
}

TEST_CASE("a misspelt variable is refused by the commands as its option would be", "[plugin]") {
    const auto ended = in_child([] {
        fake_spank::job().context = S_CTX_LOCAL;
        const ScopedVariable off{"RAILHEAD_RAIL", "offf"};
        Plugin plugin;
        plugin.init();
        plugin.post_opt();
    });
    CHECK(ended.status == 1);
    CHECK(ended.log == "error: railhead: RAILHEAD_RAIL=offf: takes auto|off\n");
}
