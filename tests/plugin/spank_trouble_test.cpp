// Whatever goes wrong in the plugin: the host lives, and at most a step ends.
#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <iterator>

#include "fakes/failing_memory.hpp"
#include "plugin/spank_host.hpp"
#include "support/golden.hpp"

using fake_spank::job;
using namespace spank_host;

// ---- trouble ------------------------------------------------------------------------------

TEST_CASE("slurmstepd logs a misspelt argument and the job goes on without us", "[plugin]") {
    step("0", 1, 0);
    Plugin plugin{{"strickt=true"}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(job().has_logged("error: railhead: plugstack.conf: unknown key"));
    CHECK(traces().empty());
}

TEST_CASE("trouble is found in user_init, told once in task_init, and ends nothing", "[plugin]") {
    struct Case {
        std::string why;
        std::uint32_t node, local_id;
        bool told;
    };
    const auto c = GENERATE(values<Case>({{"first task of the first node", 0, 0, true},
                                          {"second task", 0, 1, false},
                                          {"second node", 1, 0, false}}));
    CAPTURE(c.why);
    auto& job = step("0,1", 2, c.local_id);
    job.items[S_JOB_NODEID] = c.node;
    Plugin plugin{{"topology=/nonexistent/node.xml"}};
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    CHECK_FALSE(job.has_logged("error: "));
    CHECK(job.has_logged("info: railhead: cannot open \"/nonexistent/node.xml\""));
    REQUIRE(plugin.task_init() == 0);
    CHECK(job.has_logged("error: railhead: cannot open \"/nonexistent/node.xml\"") == c.told);
    CHECK(traces().empty());
}

TEST_CASE("a recorded node that others could have written is logged, and not acted on",
          "[plugin]") {
    const OwnMask mask;
    const railhead::test::TempDir folder;
    const railhead::test::ScopedVariable slurm_conf{"SLURM_CONF", folder.write("slurm.conf", "")};
    const auto file = folder.write("node.xml", railhead::test::read("nodes/two-cpu-8gpu.xml"));
    const auto run = [&] {
        auto& job = step("0", 1, 0);
        Plugin plugin{{"topology=" + file, "nccl_conf=/nonexistent", "health=off"}};
        REQUIRE(plugin.run_step() == 0);
        return job.has_logged("can be written by others");
    };
    CHECK_FALSE(run());
    CHECK_FALSE(traces().empty());

    std::filesystem::permissions(file, std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    CHECK(run());
    CHECK(traces().empty());
}

TEST_CASE("strict fails the task, and only from task_init", "[plugin]") {
    const auto node = "topology=" + railhead::test::node_file("two-cpu-8gpu.xml");
    const auto [why, arguments, message] =
        GENERATE_COPY(table<std::string, std::vector<std::string>, std::string>({
            {"no facts", {"strict=true", "topology=/nonexistent"}, "cannot open"},
            {"a rail is missing",
             {"strict=true", node, "nics=mlx5_0,mlx5_9"},
             "this node lacks the rail mlx5_9"},
        }));
    CAPTURE(why);
    auto& job = step("0", 1, 0);
    job.items[S_JOB_NODEID] = 7;
    Plugin plugin{arguments};
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    CHECK(plugin.task_init() == -1);
    CHECK(job.has_logged("error: railhead: " + message));
}

TEST_CASE("a node that lacks a rail of the site's list sets the list all the same", "[plugin]") {
    const OwnMask mask;
    step("0", 1, 0);
    Plugin plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                   "nics=mlx5_0,mlx5_9", "nccl_conf=/nonexistent"}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_9:1");
    CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
}

TEST_CASE("a node that cannot be read sets the site's list all the same", "[plugin]") {
    step("0", 1, 0);
    Plugin plugin{{"topology=/nonexistent", "nics=mlx5_0,mlx5_1", "nccl_conf=/nonexistent"}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_HCA") == "=mlx5_0:1,mlx5_1:1");
    CHECK(variable("UCX_NET_DEVICES") == "(unset)");
}

TEST_CASE("GPUs that cannot be told apart get the job's list and nothing of their own",
          "[plugin]") {
    const OwnMask mask;
    const auto before = OwnMask::now();
    auto& job = step("9", 1, 0);
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("NCCL_IB_HCA") == "=" + eight_rails);
    CHECK(variable("UCX_NET_DEVICES") == "(unset)");
    CHECK(variable("RAILHEAD_BINDING") == "(unset)");
    CHECK(OwnMask::now() == before);
    CHECK(
        job.has_logged("error: railhead: GPU 9 is not one of this node's 8: tasks get no NICs "
                       "and CPUs of their own"));
}

// ---- the host lives -----------------------------------------------------------------------

TEST_CASE("an exception in any call does not leave the plugin", "[plugin]") {
    const OwnMask mask;
    unsigned thrown = 0;
    for (unsigned at = 1; at < 1000; ++at) {
        CAPTURE(at);
        auto& job = step("0-7", 2, 1);
        Plugin plugin;
        job.throw_at = at;
        CHECK(plugin.init() == 0);
        CHECK(plugin.post_opt() == 0);
        CHECK(plugin.user_init() == 0);
        CHECK(plugin.task_init() == 0);
        if (job.calls < at) {
            break;  // past the last call
        }
        ++thrown;
        CHECK(job.has_logged("thrown by the fake daemon"));
    }
    CHECK(thrown > 20);
}

TEST_CASE("running out of memory at any point does not leave the plugin", "[plugin]") {
    if (!fakes::FailingMemory::works()) {
        SKIP("a sanitizer has its own allocator");
    }
    const OwnMask mask;
    unsigned failed = 0;
    for (long at = 0; at < 5000; at += 1 + at / 20) {
        CAPTURE(at);
        step("0-7", 2, 1);
        Plugin plugin;
        bool has_failed = false;
        std::array<int, 4> status{};
        {
            const fakes::FailingMemory memory{at};
            status = {plugin.init(), plugin.post_opt(), plugin.user_init(), plugin.task_init()};
            has_failed = memory.has_failed();
        }
        CHECK(status == std::array<int, 4>{});
        if (!has_failed) {
            break;
        }
        ++failed;
    }
    CHECK(failed > 20);
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // no child of the probe went astray
}

TEST_CASE("when no process can be made, the tasks are left as they are", "[plugin]") {
    const auto ended = in_child([] {
        step("0", 1, 0);
        Plugin plugin;
        constexpr uid_t nobody = 65534;
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_NPROC, &none);
        if (::geteuid() == 0 && ::setuid(nobody) != 0) {  // the limit does not hold for root
            ::_exit(2);
        }
        const int status = plugin.run_step();
        ::_exit(job().has_logged("error: railhead: cannot fork") ? status : 3);
    });
    CHECK(ended.status == 0);
}

TEST_CASE("garbage in any place is survived", "[plugin]") {
    const OwnMask mask;
    const std::string bytes = "\x01\xff\xfe\x1b[2J%s%n,=:;-\t\n\"'\\";
    const std::vector<std::string> garbage{"",
                                           ",",
                                           "-",
                                           "=",
                                           "0-",
                                           "-1",
                                           "GPU-",
                                           "MIG-",
                                           "MIG-GPU-/",
                                           bytes,
                                           bytes + bytes,
                                           "99999999999999999999",
                                           "0-4294967295",
                                           std::string(200'000, '9'),
                                           std::string(100'000, ','),
                                           "0x" + std::string(70'000, 'f')};
    const std::vector<std::string> names{
        "SLURM_STEP_GPUS",     "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
        "SLURM_CPU_BIND_TYPE", "SLURM_CPU_BIND_LIST",  "RAILHEAD",
        "RAILHEAD_RAIL",       "RAILHEAD_NCCL_CONF",   "NCCL_IB_HCA",
        "RAILHEAD_RAILS",      "UCX_NET_DEVICES",      "SLURM_SPANK_RAILHEAD"};
    Plugin plugin;
    for (const auto& name : names) {
        for (const auto& value : garbage) {
            CAPTURE(name, value.substr(0, 20));
            step("0", 1, 0).environment[name] = value;
            CHECK(plugin.run_step() == 0);
            mask.restore();
        }
    }
    for (const auto& value : garbage) {
        step("0", 1, 0);
        CHECK(Plugin{{value}}.run_step() == 0);
        CHECK(Plugin{{"topology=" + value}}.run_step() == 0);
        CHECK(Plugin{{"nics=" + value}}.run_step() == 0);
    }
}

TEST_CASE("an environment of 10,000 lines is survived", "[plugin]") {
    const OwnMask mask;
    auto& job = step("0", 1, 0);
    for (int line = 0; line < 10'000; ++line) {
        job.environment["VARIABLE_" + std::to_string(line)] = std::string(100, 'x');
    }
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(variable("UCX_NET_DEVICES") == "mlx5_0:1");
}

TEST_CASE("no thread, file or child is left by a step", "[plugin]") {
    const OwnMask mask;
    const auto entries = [](const char* folder) {
        return std::distance(std::filesystem::directory_iterator{folder}, {});
    };
    const auto threads = entries("/proc/self/task");
    const auto files = entries("/proc/self/fd");
    {
        step("0", 1, 0);
        Plugin plugin;
        REQUIRE(plugin.run_step() == 0);
        CHECK(entries("/proc/self/task") == threads);
        CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
    }
    CHECK(entries("/proc/self/fd") == files);
}

TEST_CASE("with verbose, each task says what it got", "[plugin]") {
    const OwnMask mask;
    auto& job = step("4", 1, 0);
    job.environment["SLURMD_NODENAME"] = "n01";
    job.items[S_TASK_GLOBAL_ID] = 6;
    Plugin plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"), "verbose"}};
    REQUIRE(plugin.run_step() == 0);
    CHECK(job.has_logged("spank: railhead: node n01 task 0 rank 6: GPU 4 (0000:33:00.0), CPUs "));
}

TEST_CASE("RAILHEAD_VERBOSE and --cpu-bind=verbose ask for the same line", "[plugin]") {
    const OwnMask mask;
    const auto [name, value, asked] = GENERATE(table<std::string, std::string, bool>({
        {"RAILHEAD_VERBOSE", "1", true},
        {"RAILHEAD_VERBOSE", "off", false},
        {"RAILHEAD_VERBOSE", "nonsense", false},
        {"SLURM_CPU_BIND_VERBOSE", "verbose", true},
        {"SLURM_CPU_BIND_VERBOSE", "quiet", false},
    }));
    CAPTURE(name, value);
    step("4", 1, 0).environment[name] = value;
    Plugin plugin;
    REQUIRE(plugin.run_step() == 0);
    CHECK(job().has_logged("spank: railhead: node ") == asked);
}

TEST_CASE("the second task with the same GPU tells of it, once a step", "[plugin]") {
    const OwnMask mask;
    auto& job = step("0-7", 3, 0);
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    const auto start = [&](std::uint32_t id, const std::string& gpus) {
        job.items[S_TASK_ID] = id;
        job.environment["SLURM_STEP_GPUS"] = gpus;
        job.environment["CUDA_VISIBLE_DEVICES"] = gpus;
        mask.restore();
        REQUIRE(plugin.task_init() == 0);
    };
    start(0, "3");
    start(1, "4");
    CHECK(job.log.empty());
    start(2, "3,4");
    REQUIRE(job.log.size() == 1);
    CHECK(job.has_logged("error: railhead: tasks 0 and 2 of node ? both have GPU 3"));
}

TEST_CASE("tasks that see all GPUs, or parts of one, do not hold the same one", "[plugin]") {
    const OwnMask mask;
    const auto* const visible = GENERATE("0-7", "MIG-GPU-00000000-0000-0000-0000-000000000002/1/0");
    auto& job = step("0-7", 2, 0);
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    for (std::uint32_t id = 0; id < 2; ++id) {
        job.items[S_TASK_ID] = id;
        job.environment["CUDA_VISIBLE_DEVICES"] = visible;
        mask.restore();
        REQUIRE(plugin.task_init() == 0);
    }
    CHECK(job.log.empty());
}
