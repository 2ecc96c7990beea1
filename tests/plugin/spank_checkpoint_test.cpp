// What the plugin tells a step of checkpoints, and the programs that it starts beside the tasks.
#include <sys/prctl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "plugin/spank_host.hpp"

using fake_spank::job;
using namespace spank_host;
using namespace std::chrono_literals;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

namespace {

/// A step without GPUs on one of `nodes` nodes.
fake_spank::Job& cpu_step(std::uint32_t nodes, std::uint32_t node = 0) {
    auto& job = step("", 1, 0);
    job.environment = {};
    job.items[S_JOB_ID] = 7;
    job.items[S_JOB_NNODES] = nodes;
    job.items[S_JOB_NODEID] = node;
    return job;
}

/// The trust in files goes by the owner of slurm.conf: here, whoever runs the test.
ScopedVariable own_slurm_conf(const TempDir& folder) {
    return ScopedVariable{"SLURM_CONF", folder.write("slurm.conf", "")};
}

Plugin plugin_with(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"nccl_conf=/nonexistent", "health=off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Plugin{arguments};
}

void run(Plugin& plugin) {
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.post_opt() == 0);
    REQUIRE(plugin.user_init() == 0);
    REQUIRE(plugin.task_init() == 0);
}

}  // namespace

// ---- variables ----------------------------------------------------------------------------

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
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto policy = folder.write(
        "railhead.toml", "[checkpoint]\nmode = \"enforce\"\nfailures = 10\ncost = \"2m\"\n");
    const auto [nodes, mtbf] =
        GENERATE(table<std::uint32_t, std::string>({{2, "4320000"}, {1, "(unset)"}}));
    auto& job = step("0-7", 1, 0);
    job.items[S_JOB_NNODES] = nodes;
    Plugin plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                   "nccl_conf=/nonexistent", "health=off", "helper=off", "policy=" + policy}};

    run(plugin);

    CHECK(variable("RAILHEAD_CKPT_MTBF") == mtbf);
    CHECK(variable("RAILHEAD_CKPT_FROM") == (nodes == 2 ? "policy" : "(unset)"));
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

// ---- the program beside the tasks ---------------------------------------------------------

namespace {

/// A program that writes down its command line, variables, descriptors and parent, waits for the
/// end of its socket, and says that it has ended.
std::string write_helper(const TempDir& folder) {
    const auto base = folder.path();
    auto file =
        folder.write("helper",
                     "#!/bin/sh\n"
                     "for last; do [ \"$before\" = --end-fd ] && fd=$last; before=$last; done\n"
                     "{ echo \"$@\"; env; echo PPID=$PPID; ls /proc/$$/fd; } > " +
                         base +
                         "/told.new\n"
                         "mv " +
                         base + "/told.new " + base +
                         "/told\n"
                         "eval \"read nothing <&$fd\"\n"
                         "sleep 0.2\n"
                         "touch " +
                         base + "/ended\n");
    ::chmod(file.c_str(), 0755);
    return file;
}

std::string text_of(const std::filesystem::path& file) {
    for (int tries = 0; tries < 400 && !std::filesystem::exists(file); ++tries) {
        std::this_thread::sleep_for(10ms);
    }
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("a task starts the clock as its sister, and its end is waited for",
          "[plugin][checkpoint]") {
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto helper = write_helper(folder);
    auto& job = cpu_step(1);
    job.environment = {{"RAILHEAD_CKPT_SIGNAL", "USR1"},
                       {"RAILHEAD_CKPT_INTERVAL", "60"},
                       {"SLURM_JOB_ID", "7"},
                       {"SLURM_JOB_END_TIME", "1796040000"},
                       {"LD_PRELOAD", "/nonexistent.so"},
                       {"HOME", "/home/user"}};
    auto plugin = plugin_with({"helper=" + helper});
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    // This process plays slurmstepd, a child of it the task.
    int strange = 0;
    const pid_t task = ::fork();
    if (task == 0) {
        plugin.task_init();
        ::_exit(::waitpid(-1, nullptr, 0) < 0 ? 0 : 1);  // the task's program sees no child
    }
    REQUIRE(::waitpid(task, &strange, 0) == task);
    CHECK(strange == 0);

    const auto told = text_of(folder.path("told"));
    CHECK_THAT(
        told, ContainsSubstring("clock --job 7 --signal 10 --target tasks --interval 60 --lead 120 "
                                "--deadline 1796039880 --speaks --scontrol "));
    CHECK_THAT(told, ContainsSubstring("--pid " + std::to_string(task) + " --parent " +
                                       std::to_string(::getpid()) + " --end-fd 3"));
    CHECK_THAT(told, ContainsSubstring("PPID=" + std::to_string(::getpid())));
    CHECK_THAT(told, ContainsSubstring("HOME=/home/user"));
    CHECK(told.find("LD_PRELOAD") == std::string::npos);

    const auto begun = std::chrono::steady_clock::now();
    REQUIRE(plugin.call("slurm_spank_task_exit") == 0);
    CHECK(std::filesystem::exists(folder.path("ended")));
    CHECK(std::chrono::steady_clock::now() - begun < 1s);
    CHECK(::waitpid(-1, nullptr, 0) > 0);
    CHECK(::waitpid(-1, nullptr, 0) < 0);
}

TEST_CASE("a program that does not end is not waited for longer than a second",
          "[plugin][checkpoint]") {
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto helper = folder.write("helper", "#!/bin/sh\nexec sleep 60\n");
    ::chmod(helper.c_str(), 0755);
    auto& job = cpu_step(1);
    job.environment = {{"RAILHEAD_CKPT_SIGNAL", "USR1"},
                       {"SLURM_JOB_ID", "7"},
                       {"SLURM_JOB_END_TIME", "1796040000"}};
    auto plugin = plugin_with({"helper=" + helper});
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    const pid_t task = ::fork();
    if (task == 0) {
        plugin.task_init();
        ::_exit(0);
    }
    REQUIRE(::waitpid(task, nullptr, 0) == task);
    const auto begun = std::chrono::steady_clock::now();
    REQUIRE(plugin.call("slurm_spank_task_exit") == 0);
    const auto took = std::chrono::steady_clock::now() - begun;
    CHECK(took > 900ms);
    CHECK(took < 3s);
    // It is ours to end, as it would be Slurm's.
    std::ifstream children{"/proc/self/task/" + std::to_string(::getpid()) + "/children"};
    pid_t left = 0;
    REQUIRE(children >> left);
    ::kill(left, SIGKILL);
    ::waitpid(left, nullptr, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("the program ends with the last task of the node, not with the first",
          "[plugin][checkpoint]") {
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto helper = write_helper(folder);
    auto& job = cpu_step(1);
    job.items[S_JOB_LOCAL_TASK_COUNT] = 2;
    job.environment = {{"RAILHEAD_CKPT_SIGNAL", "USR1"},
                       {"SLURM_JOB_ID", "7"},
                       {"SLURM_JOB_END_TIME", "1796040000"}};
    auto plugin = plugin_with({"helper=" + helper});
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    for (const std::uint32_t id : {0U, 1U}) {
        job.items[S_TASK_ID] = id;
        const pid_t task = ::fork();
        if (task == 0) {
            plugin.task_init();
            ::_exit(0);
        }
        REQUIRE(::waitpid(task, nullptr, 0) == task);
    }
    REQUIRE_FALSE(text_of(folder.path("told")).empty());
    REQUIRE(plugin.call("slurm_spank_task_exit") == 0);
    std::this_thread::sleep_for(300ms);
    CHECK_FALSE(std::filesystem::exists(folder.path("ended")));
    REQUIRE(plugin.call("slurm_spank_task_exit") == 0);
    CHECK(std::filesystem::exists(folder.path("ended")));
    CHECK(::waitpid(-1, nullptr, 0) > 0);  // one program for both tasks
    CHECK(::waitpid(-1, nullptr, 0) < 0);
}

TEST_CASE("which step has a clock, and which a watcher", "[plugin][checkpoint]") {
    struct Case {
        std::string why;
        std::uint32_t step, node;
        std::string signal, folder, watched;
        std::string clock;  ///< its target; "": there is none
        bool watcher;
    };
    const auto c = GENERATE(values<Case>({
        {"every node of a step", 0, 1, "USR1", "", "", "tasks", false},
        {"the node of rank 0", 0, 0, "USR1@rank0", "", "", "rank0", false},
        {"not the others", 0, 1, "USR1@rank0", "", "", "", false},
        {"no step, where the script is meant", 0, 0, "USR1@batch", "", "", "", false},
        {"the batch step then", batch_step, 0, "USR1@batch", "", "", "batch", false},
        {"the batch step else, for what it starts itself", batch_step, 0, "USR1", "", "",
         "in-batch", false},
        {"no clock in a shell", interactive_step, 0, "USR1", "", "", "", false},
        {"the first node of a step watches", 0, 0, "", "ckpt", "", "", true},
        {"not the others", 0, 1, "", "ckpt", "", "", false},
        {"nor where the batch step does", 0, 0, "", "ckpt", "7", "", false},
        {"but where that is another job's", 0, 0, "", "ckpt", "6", "", true},
        {"the batch step watches", batch_step, 0, "", "ckpt", "", "", true},
        {"both", batch_step, 0, "USR1@batch", "ckpt", "", "batch", true},
    }));
    CAPTURE(c.why);
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto log = folder.path("log");
    const auto helper = folder.write("helper", "#!/bin/sh\necho \"$@\" >> " + log + "\n");
    ::chmod(helper.c_str(), 0755);
    auto& job = cpu_step(2, c.node);
    job.items[S_JOB_STEPID] = c.step;
    job.environment = {
        {"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "1796040000"}, {"SLURM_JOB_NUM_NODES", "2"}};
    const std::map<std::string, std::string> wishes{{"RAILHEAD_CKPT_SIGNAL", c.signal},
                                                    {"RAILHEAD_CKPT_DIR", c.folder},
                                                    {"RAILHEAD_CKPT_WATCHED", c.watched}};
    for (const auto& [name, value] : wishes) {
        if (!value.empty()) {
            job.environment[name] = value;
        }
    }
    auto plugin = plugin_with({"helper=" + helper});
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    const pid_t task = ::fork();
    if (task == 0) {
        plugin.task_init();
        ::_exit(0);
    }
    REQUIRE(::waitpid(task, nullptr, 0) == task);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }

    const auto text = std::filesystem::exists(log) ? text_of(log) : std::string{};
    CHECK((text.find("clock ") != std::string::npos) == !c.clock.empty());
    if (!c.clock.empty()) {
        CHECK_THAT(text, ContainsSubstring("--target " + c.clock + " "));
    }
    CHECK((text.find("watch ") != std::string::npos) == c.watcher);
    if (c.watcher) {
        CHECK_THAT(text, ContainsSubstring("--dir " +
                                           (std::filesystem::current_path() / "ckpt").string()));
        CHECK((text.find("--hold") != std::string::npos) == (c.step == batch_step));
    }
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
    const auto helper = folder.write("helper", "#!/bin/sh\necho \"$@\" >> " + log + "\n");
    ::chmod(helper.c_str(), 0755);
    auto& job = cpu_step(2);
    job.environment = {{"SLURM_JOB_ID", "7"},
                       {"SLURM_JOB_END_TIME", "1796040000"},
                       {"RAILHEAD_CKPT_INTERVAL", "auto"},
                       {"RAILHEAD_CKPT_SIGNAL", signal}};
    auto plugin = plugin_with({"helper=" + helper, "policy=" + policy});
    REQUIRE(plugin.init() == 0);
    REQUIRE(plugin.user_init() == 0);
    const pid_t task = ::fork();
    if (task == 0) {
        plugin.task_init();
        ::_exit(0);
    }
    REQUIRE(::waitpid(task, nullptr, 0) == task);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }

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

TEST_CASE("a program that others could have written is not run", "[plugin][checkpoint]") {
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto helper = write_helper(folder);
    ::chmod(helper.c_str(), 0775);
    auto& job = cpu_step(1);
    job.environment = {{"RAILHEAD_CKPT_SIGNAL", "USR1"},
                       {"SLURM_JOB_ID", "7"},
                       {"SLURM_JOB_END_TIME", "1796040000"}};
    auto plugin = plugin_with({"helper=" + helper});
    run(plugin);
    CHECK(job.has_logged("no checkpoint clock and no watcher: \"" + helper +
                         "\" can be written by others"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
    CHECK_FALSE(std::filesystem::exists(folder.path("told")));
}
