// What the plugin tells a step of checkpoints.
#include <cstdlib>
#include <optional>
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
    const auto policy = folder.write("railhead.toml",
                                     "[checkpoint]\nmode = \"enforce\"\nfailures = 10\ncost = "
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
    const ScopedVariable outer_step_time{"SLURM_SPANK_RAILHEAD_CKPT_STEP", "4"};
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

TEST_CASE("what was said to the job around is not said to a job that is submitted from within it",
          "[plugin][checkpoint]") {
    struct Case {
        std::string name, value, outer, outer_value, source;
        bool kept;
    };
    const std::string option = "SLURM_SPANK__SLURM_SPANK_OPTION_railhead_ckpt_";
    const std::string copy = "SLURM_SPANK_RAILHEAD_CKPT_";
    const auto c = GENERATE_COPY(values<Case>({
        {"SIGNAL", "USR1", copy + "SIGNAL", "USR1", "default", false},
        {"SIGNAL", "USR2", copy + "SIGNAL", "USR1", "default", true},
        {"DIR", "ckpt", copy + "DIR", "ckpt", "default", false},
        {"SIGNAL", "USR1", option + "signal", "USR1", "default", false},
        {"DIR", "own", option + "dir", "ckpt", "default", true},
        {"INTERVAL", "300", option + "interval", "5m", "user", false},
        {"INTERVAL", "300", copy + "INTERVAL", "300", "user", false},
        {"INTERVAL", "600", option + "interval", "5m", "user", true},
        {"INTERVAL", "600", option + "signal", "USR1", "policy", false},
        {"COST", "30", copy + "COST", "30", "user", false},
        {"COST", "30", option + "dir", "ckpt", "user", false},  // told
        {"COST", "31", copy + "COST", "30", "user", true},
        {"STEP", "30", option + "dir", "ckpt", "policy", false},
        {"COST", "30", option + "dir", "ckpt", "", true},
    }));
    CAPTURE(c.name, c.value, c.outer, c.source);
    const auto name = "RAILHEAD_CKPT_" + c.name;
    const TempDir home;
    const ScopedVariable own_home{"HOME", home.path()};
    const ScopedVariable outer_job{"SLURM_JOB_ID", "7"};
    const ScopedVariable own{name.c_str(), c.value};
    const ScopedVariable outer{c.outer.c_str(), c.outer_value};
    std::optional<ScopedVariable> source;
    if (!c.source.empty()) {
        source.emplace("RAILHEAD_CKPT_FROM", c.source);
    }
    auto& job = fake_spank::reset();
    const bool is_step = GENERATE(false, true);
    job.context = is_step ? S_CTX_LOCAL : S_CTX_ALLOCATOR;
    Plugin plugin;

    REQUIRE(plugin.init() == 0);

    // Slurm then reads the option's variable as if the user had given the option.
    CHECK((::getenv(c.outer.c_str()) != nullptr) == is_step);
    CHECK((::getenv(name.c_str()) != nullptr) == (c.kept || is_step));
    REQUIRE(plugin.post_opt() == 0);
    CHECK((c.kept || is_step || !job.control.contains(name)));
}

TEST_CASE("a cost or a step that is no time is refused by the commands", "[plugin][checkpoint]") {
    const auto [name, value] = GENERATE(table<std::string, std::string>({
        {"RAILHEAD_CKPT_COST", "abc"},
        {"RAILHEAD_CKPT_COST", "-1"},
        {"RAILHEAD_CKPT_COST", "1e-9"},
        {"RAILHEAD_CKPT_STEP", "1e99"},
    }));
    const auto ended = in_child([&, name = name, value = value] {
        fake_spank::job().context = S_CTX_ALLOCATOR;
        const ScopedVariable own{name.c_str(), value};
        Plugin plugin;
        plugin.init();
        plugin.post_opt();
    });
    CHECK(ended.status == 1);
    CHECK(ended.log == "error: railhead: " + name + "=" + value +
                           ": takes a time above 0, up to 365 d: 30, 90s, 1:30:00\n");
}

TEST_CASE("a job may want no signal where the site sends one to all that declare",
          "[plugin][checkpoint]") {
    const auto [signal, clock] =
        GENERATE(table<std::string, bool>({{"", true}, {"USR1", true}, {"none", false}}));
    CAPTURE(signal);
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto policy = folder.write(
        "railhead.toml", "[checkpoint]\nmode = \"enforce\"\nclock = true\nsignal = \"USR1\"\n");
    const auto log = folder.path("log");
    const auto helper = telling_helper(folder, log);
    auto& job = cpu_step(2);
    job.environment = {{"SLURM_JOB_ID", "7"},
                       {"SLURM_JOB_END_TIME", "1796040000"},
                       {"RAILHEAD_CKPT_INTERVAL", "auto"},
                       {"RAILHEAD_CKPT_SIGNAL", signal}};
    auto plugin = plugin_with({"helper=" + helper, "policy=" + policy});
    start_task(plugin);

    CHECK(std::filesystem::exists(log) == clock);
    CHECK(variable("RAILHEAD_CKPT_MTBF") == "6646154");
}

TEST_CASE("a job that says no more than that it wants no signal is told nothing",
          "[plugin][checkpoint]") {
    auto& job = cpu_step(4);
    job.environment["RAILHEAD_CKPT_SIGNAL"] = "none";
    auto plugin = plugin_with({"helper=off", "policy=/nonexistent"});  // which would be logged
    run(plugin);
    CHECK(traces() == std::vector<std::string>{"RAILHEAD_CKPT_SIGNAL"});
    CHECK(job.log.empty());
}
