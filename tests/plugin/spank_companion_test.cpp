// The programs that the plugin starts beside the tasks: the clock and the watcher.
#include <sys/prctl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "plugin/spank_checkpoint_host.hpp"

using fake_spank::job;
using namespace spank_host;
using namespace std::chrono_literals;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

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
    CHECK(::waitpid(-1, nullptr, 0) < 0);  // it is gone, not only ended
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
    run_task(plugin);
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
    CHECK(::waitpid(-1, nullptr, 0) < 0);  // one program for both tasks
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
    const auto helper = telling_helper(folder, log);
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
    start_task(plugin);

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

TEST_CASE("a listed variable declares where it is set and does not say no",
          "[plugin][checkpoint]") {
    const auto [value, mode, clock] = GENERATE(table<std::string, std::string, bool>({
        {"1", "enforce", true},
        {"0", "enforce", false},
        {"", "enforce", false},
        {"1", "advise", false},
    }));
    CAPTURE(value, mode);
    const TempDir folder;
    const auto conf = own_slurm_conf(folder);
    const auto policy = folder.write("railhead.toml", "[checkpoint]\nmode = \"" + mode +
                                                          "\"\nclock = true\nsignal = \"USR1\"\n"
                                                          "declares = \"RESUME\"\n");
    const auto log = folder.path("log");
    const auto helper = telling_helper(folder, log);
    auto& job = step("0-7", 1, 0);
    job.items[S_JOB_NNODES] = 2;
    job.environment["RESUME"] = value;
    Plugin plugin{{"topology=" + railhead::test::node_file("two-cpu-8gpu.xml"),
                   "nccl_conf=/nonexistent", "health=off", "helper=" + helper, "policy=" + policy}};
    start_task(plugin);

    const auto text = std::filesystem::exists(log) ? text_of(log) : std::string{};
    CHECK((text.find("clock --job") != std::string::npos) == clock);
}
