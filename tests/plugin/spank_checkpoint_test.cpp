// What the plugin tells a step of checkpoints.
#include <cstdlib>
#include <string>
#include <vector>

#include "plugin/spank_checkpoint_host.hpp"

using fake_spank::job;
using namespace spank_host;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

TEST_CASE("a step without GPUs is told of checkpoints when the job speaks of them",
          "[plugin][checkpoint]") {
    auto& job = cpu_step(4);
    job.environment["RAILHEAD_CKPT_INTERVAL"] = "30m";
    job.environment["SLURM_RESTART_COUNT"] = "3";
    job.environment["SLURM_JOB_ID"] = "7";
    job.environment["SLURM_JOB_END_TIME"] = "1796040000";
    auto plugin = plugin_with({"helper=off"});

    run(plugin);

    CHECK(variable("RAILHEAD_CKPT_INTERVAL") == "1800");
    CHECK(variable("RAILHEAD_CKPT_FROM") == "user");
    CHECK(variable("RAILHEAD_CKPT_MTBF") == "3323077");  // 1000 days / 6.5 / 4
    CHECK(variable("RAILHEAD_CKPT_LEAD") == "120");
    CHECK(variable("RAILHEAD_CKPT_DEADLINE") == "1796039880");
    CHECK(variable("RAILHEAD_CKPT_RESTARTS") == "3");
    CHECK(job.log.empty());
}

TEST_CASE("the end of a job around this one is not taken for its own", "[plugin][checkpoint]") {
    auto& job = cpu_step(4);
    job.environment["RAILHEAD_CKPT_INTERVAL"] = "30m";
    job.environment["SLURM_JOB_ID"] = "6";
    job.environment["SLURM_JOB_END_TIME"] = "1796040000";
    job.environment["RAILHEAD_CKPT_DEADLINE"] = "1796039880";
    auto plugin = plugin_with({"helper=off"});

    run(plugin);

    CHECK(variable("RAILHEAD_CKPT_DEADLINE") == "(unset)");
}

TEST_CASE("a step whose job says nothing of checkpoints pays nothing", "[plugin][checkpoint]") {
    cpu_step(4);
    auto plugin = plugin_with({"helper=off", "policy=/nonexistent"});  // which would be logged
    run(plugin);
    CHECK(traces().empty());
    CHECK(job().log.empty());
}

TEST_CASE("what an outer step was told is replaced, its wish is not", "[plugin][checkpoint]") {
    auto& job = cpu_step(1);
    job.environment["RAILHEAD_CKPT_FROM"] = "default";
    job.environment["RAILHEAD_CKPT_INTERVAL"] = "5000";
    job.environment["RAILHEAD_CKPT_MTBF"] = "1";
    job.environment["RAILHEAD_CKPT_DEADLINE"] = "1";
    job.environment["RAILHEAD_CKPT_JOB_END"] = "6:1000";  // another job's
    job.environment["RAILHEAD_CKPT_COST"] = "100";
    auto plugin = plugin_with({"helper=off"});

    run(plugin);

    CHECK(variable("RAILHEAD_CKPT_INTERVAL") != "5000");
    CHECK(variable("RAILHEAD_CKPT_MTBF") == "13292308");
    CHECK(variable("RAILHEAD_CKPT_DEADLINE") == "(unset)");
    CHECK(variable("RAILHEAD_CKPT_COST") == "100");
}

TEST_CASE("a step in a job that is turned off keeps the wish alone", "[plugin][checkpoint]") {
    auto& job = cpu_step(1);
    job.environment["RAILHEAD"] = "off";
    job.environment["RAILHEAD_CKPT_SIGNAL"] = "USR1";
    job.environment["RAILHEAD_CKPT_FROM"] = "default";
    job.environment["RAILHEAD_CKPT_INTERVAL"] = "5000";
    job.environment["RAILHEAD_CKPT_MTBF"] = "1";
    auto plugin = plugin_with({"helper=off"});
    run(plugin);
    CHECK(traces() == std::vector<std::string>{"RAILHEAD_CKPT_SIGNAL"});
}

TEST_CASE("the site's figures count, and it tells gangs that say nothing", "[plugin][checkpoint]") {
    struct Case {
        std::string why;
        std::uint32_t nodes, least;
        std::string mtbf;
    };
    const auto c = GENERATE(values<Case>({
        {"a gang", 2, 2, "4320000"},
        {"a single node", 1, 2, "(unset)"},
        {"which the site may want to be told, too", 1, 1, "8640000"},
        {"a gang that is too small", 2, 3, "(unset)"},
    }));
    CAPTURE(c.why);
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto policy =
        folder.write("railhead.toml", "[checkpoint]\nmode = \"enforce\"\nfailures = 10\ncost = "
                                      "\"2m\"\nmin_nodes = " +
                                          std::to_string(c.least) + "\n");
    auto& job = step("0-7", 1, 0);
    job.items[S_JOB_NNODES] = c.nodes;
    Plugin plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                   "nccl_conf=/nonexistent", "health=off", "helper=off", "policy=" + policy}};

    run(plugin);

    CHECK(variable("RAILHEAD_CKPT_MTBF") == c.mtbf);
    CHECK(variable("RAILHEAD_CKPT_FROM") == (c.mtbf == "(unset)" ? "(unset)" : "policy"));
}

TEST_CASE("sbatch sends wishes along and forgets what the job around it was told",
          "[plugin][checkpoint]") {
    const ScopedVariable source{"RAILHEAD_CKPT_FROM", "default"};
    const ScopedVariable interval{"RAILHEAD_CKPT_INTERVAL", "5000"};
    const ScopedVariable deadline{"RAILHEAD_CKPT_DEADLINE", "1"};
    const ScopedVariable signal{"RAILHEAD_CKPT_SIGNAL", "USR1@rank0"};
    const ScopedVariable step_time{"RAILHEAD_CKPT_STEP", "5"};
    const TempDir home;
    const ScopedVariable own_home{"HOME", home.path()};
    auto& job = fake_spank::reset();
    job.context = S_CTX_ALLOCATOR;
    Plugin plugin;
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    CHECK(job.control.at("RAILHEAD_CKPT_SIGNAL") == "USR1@rank0");
    CHECK(job.control.at("RAILHEAD_CKPT_STEP") == "5");
    CHECK_FALSE(job.control.contains("RAILHEAD_CKPT_INTERVAL"));
    CHECK(::getenv("RAILHEAD_CKPT_INTERVAL") == nullptr);
    CHECK(::getenv("RAILHEAD_CKPT_DEADLINE") == nullptr);
}
