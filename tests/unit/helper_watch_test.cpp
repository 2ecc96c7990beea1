// The helper's own parts: its command line, and what it reads of Slurm.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "checkpoint/state_folder.hpp"
#include "job_watch.hpp"
#include "slurm_job.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "watch_options.hpp"

using namespace railhead;
using namespace railhead::helper;

namespace {

/// A job with commands of Slurm that only write down what they are told.
struct FakeJob {
    test::TempDir dir;
    test::ScopedVariable path{"PATH", dir.path("bin") + ":/usr/bin:/bin"};
    test::ScopedVariable state{"XDG_STATE_HOME", dir.path()};

    explicit FakeJob(const std::string& restarts = "0", const std::string& requeue = "1") {
        std::filesystem::create_directories(dir.path("bin"));
        std::filesystem::create_directories(dir.path("ckpt"));
        program("scontrol", "[ $1 = show ] || echo \"$@\" >> " + dir.path("calls") +
                                "\necho '   JobState=RUNNING Reason=None'\n"
                                "echo '   Requeue=" +
                                requeue + " Restarts=" + restarts +
                                " ExitCode=0:0'\necho '   Comment=mine'\n");
        program("sacct", "exit 1\n");
        program("sinfo", "");
    }
    void program(const std::string& name, const std::string& text) const {
        const auto file = dir.write("bin/" + name, "#!/bin/sh\n" + text);
        REQUIRE(::chmod(file.c_str(), 0755) == 0);
    }
    [[nodiscard]] WatchOptions options(std::uint32_t restarts) const {
        WatchOptions options;
        options.job = 7;
        options.name = "train";
        options.folder = dir.path("ckpt");
        options.restarts = restarts;
        options.attempts = 2;
        options.hold = true;
        return options;
    }
    [[nodiscard]] JobWatch start(std::uint32_t restarts, double now_s) const {
        return {options(restarts), now_s,
                [this](const std::string& line) { said.push_back(line); }};
    }
    mutable std::vector<std::string> said;  ///< to the user

    void checkpoint(const std::string& name) const {
        std::filesystem::create_directories(dir.path("ckpt/" + name));
        static_cast<void>(dir.write("ckpt/" + name + "/__0_0.distcp", "x"));
        static_cast<void>(dir.write("ckpt/" + name + "/.metadata", "x"));
    }
    /// What Slurm was told since the last call.
    [[nodiscard]] std::string calls() const {
        std::ifstream file{dir.path("calls")};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        std::filesystem::remove(dir.path("calls"));
        return text;
    }
    [[nodiscard]] checkpoint::Record record() const {
        const auto folder = checkpoint::StateFolder::open(dir.path("railhead"), ::geteuid());
        REQUIRE(folder);
        auto record = folder->read_record(7);
        REQUIRE(record);
        return std::move(*record);
    }
};

constexpr double now_s = 1'796'000'000;

const std::string held =
    "railhead: 1 attempt in a row failed before a checkpoint: this one is held if it fails too; a "
    "checkpoint frees it, or scontrol release 7";

}  // namespace

TEST_CASE("an attempt behind one that nobody saw the end of is held, and freed by a checkpoint",
          "[helper][hold]") {
    const FakeJob job;
    job.start(0, now_s).begin(now_s);
    REQUIRE(job.calls().empty());

    auto second = job.start(1, now_s + 100);
    second.begin(now_s + 100);
    CHECK(job.calls() == "hold 7\nupdate JobId=7 Comment=mine; " + held + "\n");
    CHECK(job.record().hold->reason == held);
    CHECK(job.said == std::vector<std::string>{held.substr(std::string{"railhead: "}.size())});

    job.checkpoint("step-1");
    second.look(now_s + 200);
    CHECK(job.calls() == "release 7\nupdate JobId=7 Comment=mine\n");
    CHECK_FALSE(job.record().hold);
    CHECK(job.record().attempts.back().checkpoints == 1);
}

TEST_CASE("the first checkpoint of a folder that the job makes counts", "[helper][folder]") {
    const FakeJob job;
    std::filesystem::remove(job.dir.path("ckpt"));
    auto watch = job.start(0, now_s);
    watch.begin(now_s);
    const auto fd = watch.changes_fd();  // the folder above is followed
    REQUIRE(fd >= 0);
    watch.look(now_s + 1);
    watch.drain_changes();
    CHECK(watch.next_look_s(now_s + 1) <= now_s + 2);

    job.checkpoint("step-1");
    std::array<pollfd, 1> heard{{{fd, POLLIN, 0}}};
    CHECK(::poll(heard.data(), heard.size(), 0) == 1);
    watch.look(now_s + 2);

    CHECK(job.record().attempts.back().checkpoints == 1);
    CHECK(watch.next_look_s(now_s + 2) < now_s + 4);  // what came before it was followed
    watch.look(now_s + 3);
    CHECK(watch.next_look_s(now_s + 3) > now_s + 5);
}

TEST_CASE("a folder that cannot be opened is told once, with the reason", "[helper][folder]") {
    const FakeJob job;
    std::filesystem::remove(job.dir.path("ckpt"));
    const bool is_fifo = GENERATE(true, false);
    if (is_fifo) {
        REQUIRE(::mkfifo(job.dir.path("ckpt").c_str(), 0600) == 0);
    } else {
        static_cast<void>(job.dir.write("ckpt", ""));
    }
    auto watch = job.start(0, now_s);
    watch.begin(now_s);
    watch.look(now_s + 10);

    const auto why = "cannot open the folder \"" + job.dir.path("ckpt") + "\": Not a directory";
    CHECK(job.said == std::vector<std::string>{"the checkpoints are not watched: " + why});
    CHECK(job.record().trouble == why);
    watch.end(now_s + 20);
    CHECK_THAT(job.said.back(), ContainsSubstring("0 checkpoints complete") &&
                                    ContainsSubstring("; not watched: " + why));
}

TEST_CASE("what lies in a folder that can be opened only later is not this job's",
          "[helper][folder]") {
    const FakeJob job;
    job.checkpoint("step-1");
    std::filesystem::rename(job.dir.path("ckpt"), job.dir.path("aside"));
    static_cast<void>(job.dir.write("ckpt", ""));
    auto watch = job.start(0, now_s);
    watch.begin(now_s);
    std::filesystem::remove(job.dir.path("ckpt"));
    std::filesystem::rename(job.dir.path("aside"), job.dir.path("ckpt"));
    watch.look(now_s + 10);

    CHECK(job.record().attempts.back().checkpoints == 0);
    CHECK(job.record().trouble.empty());
}

TEST_CASE("a job that a person freed is held again, with one reason", "[helper][hold]") {
    const FakeJob job;
    for (std::uint32_t restarts = 0; restarts < 3; ++restarts) {
        auto watch = job.start(restarts, now_s + 100 * restarts);
        watch.begin(now_s + 100 * restarts);
    }

    const auto calls = job.calls();

    CHECK_THAT(calls,
               ContainsSubstring("hold 7\nupdate JobId=7 Comment=mine; railhead: 2 attempts"));
    CHECK(calls.rfind("railhead:") == calls.rfind("; railhead: 2 attempts") + 2);
}

TEST_CASE("a job that is never requeued is not held", "[helper][hold]") {
    const FakeJob job{"1", "0"};
    job.start(0, now_s).begin(now_s);
    job.start(1, now_s + 100).begin(now_s + 100);
    CHECK(job.calls().empty());
}

TEST_CASE("accounting tells of an end that nobody saw", "[helper][hold]") {
    const FakeJob job;
    job.program("sacct", "echo PREEMPTED; echo RUNNING\n");
    job.start(0, now_s).begin(now_s);
    job.start(1, now_s + 100).begin(now_s + 100);

    CHECK(job.calls().empty());
    CHECK(job.record().attempts.front().cause == checkpoint::Cause::preempted);
}

TEST_CASE("a job that requeues itself behind a step that failed has failed", "[helper][hold]") {
    struct Case {
        std::string worst, config, accounting;
        checkpoint::Cause cause;
    };
    using checkpoint::Cause;
    const auto [worst, config, accounting, cause] = GENERATE(values<Case>({
        {"1:0", "preempt/none", "exit 1", Cause::failed},
        {"1:0", "(null)", "exit 1", Cause::failed},
        {"0:15", "preempt/none", "exit 1", Cause::requeued},
        // A trainer that is preempted may end with a status as well.
        {"1:0", "preempt/qos", "exit 1", Cause::requeued},
        {"1:0", "preempt/qos", "echo PREEMPTED", Cause::preempted},
        {"1:0", "preempt/qos", "echo REQUEUED", Cause::failed},
    }));
    CAPTURE(worst, config, accounting);
    const FakeJob job;
    job.program("scontrol", "case $2 in\nconfig) echo 'PreemptType             = " + config +
                                "' ;;\njob) echo '   JobState=COMPLETING Reason=None'\n"
                                "echo '   Requeue=1 Restarts=1 ExitCode=0:0'\n"
                                "echo '   DerivedExitCode=" +
                                worst + "' ;;\nesac\n");
    job.program("sacct", accounting + "\n");
    auto first = job.start(0, now_s);
    first.begin(now_s);
    first.warn_of_end(now_s + 10);
    job.start(1, now_s + 100).begin(now_s + 100);

    CHECK(job.record().attempts.front().cause == cause);
}

TEST_CASE("a node that was booted meanwhile ended the attempt", "[helper][hold]") {
    const test::ScopedVariable zone{"TZ", "UTC"};
    ::tzset();
    const test::ScopedVariable nodes{"SLURM_JOB_NODELIST", "n[1-2]"};
    const bool is_later = GENERATE(true, false);
    const FakeJob job;
    const std::string boot = is_later ? "2026-11-30T00:00:00" : "2026-11-29T00:00:00";
    job.program("scontrol", "case \"$2 $3\" in\n'node n[1-2]') echo '   BootTime=" + boot +
                                " SlurmdStartTime=None' ;;\n"
                                "*) echo '   JobState=COMPLETING Reason=None'\n"
                                "echo '   Requeue=1 Restarts=1 ExitCode=0:0' ;;\nesac\n");
    constexpr double begun_s = 1'795'996'000;  // 2026-11-29T23:46:40
    auto first = job.start(0, begun_s);
    first.begin(begun_s);
    first.warn_of_end(begun_s + 10);
    job.start(1, begun_s + 1000).begin(begun_s + 1000);

    CHECK(job.record().attempts.front().cause ==
          (is_later ? checkpoint::Cause::node : checkpoint::Cause::requeued));
}

TEST_CASE("a job of that number long ago is another one", "[helper]") {
    const FakeJob job;
    job.start(5, now_s).begin(now_s);
    job.start(0, now_s + 100).begin(now_s + 100);
    CHECK(job.record().attempts.size() == 1);
}

TEST_CASE("of two watchers of an attempt the second ends without a word", "[helper][lock]") {
    const FakeJob job;
    auto first = job.start(0, now_s);
    REQUIRE(first.begin(now_s));
    CHECK_FALSE(job.start(0, now_s + 1).begin(now_s + 1));
    CHECK(job.said.empty());
    first.end(now_s + 2);
    CHECK(job.record().attempts.size() == 1);
}

TEST_CASE("a step behind another has the watcher again, and so has the next attempt",
          "[helper][lock]") {
    const FakeJob job;
    CHECK(job.start(0, now_s).begin(now_s));
    CHECK(job.start(0, now_s + 10).begin(now_s + 10));
    const auto stale = job.start(0, now_s + 20);
    CHECK(job.start(1, now_s + 30).begin(now_s + 30));
    CHECK(std::filesystem::is_empty(job.dir.path("railhead/watching")));
}

TEST_CASE("another job of this user in the same folder is told", "[helper][lock]") {
    const FakeJob job;
    auto other_options = job.options(0);
    other_options.job = 9;
    other_options.folder += "/";
    JobWatch other{other_options, now_s, [](const std::string&) {}};
    REQUIRE(other.begin(now_s));

    CHECK(job.start(0, now_s).begin(now_s));

    REQUIRE(job.said.size() == 1);
    CHECK_THAT(job.said.front(), ContainsSubstring("job 9 has the same --ckpt-dir "));
}

TEST_CASE("a job of that number in another cluster is another one", "[helper]") {
    const FakeJob job;
    for (const auto* const cluster : {"one", "two"}) {
        const test::ScopedVariable variable{"SLURM_CLUSTER_NAME", cluster};
        auto watch = job.start(0, now_s);
        CHECK(watch.begin(now_s));
        job.checkpoint(cluster);
        watch.look(now_s + 10);
    }
    CHECK(job.record().attempts.size() == 1);
    CHECK(job.record().checkpoints == 1);
    CHECK(job.record().cluster == "two");
}

TEST_CASE("a damaged record is put aside, and a new one begins", "[helper][hostile]") {
    const FakeJob job;
    job.start(0, now_s).begin(now_s);
    static_cast<void>(job.dir.write("railhead/jobs/7.json", "{\"schema\": \"railh"));

    job.start(1, now_s + 100).begin(now_s + 100);

    CHECK(job.record().attempts.size() == 1);
    std::size_t aside = 0;
    for (const auto& entry : std::filesystem::directory_iterator{job.dir.path("railhead/jobs")}) {
        aside += entry.path().filename().string().starts_with("7.json.broken-") ? 1 : 0;
    }
    CHECK(aside == 1);
    REQUIRE(job.said.size() == 1);
    CHECK_THAT(job.said.front(), ContainsSubstring("a new record begins"));
}

TEST_CASE("the watcher's command line is read", "[helper]") {
    const auto options = parse_watch_options(
        {"--job", "7", "--name", "", "--dir", "/scratch", "--interval", "1800.5", "--cost", "30",
         "--restarts", "2", "--attempts", "3", "--nodes", "4", "--end-fd", "5", "--hold"});
    REQUIRE(options);
    CHECK(options->job == 7);
    CHECK(options->interval_s == 1800.5);
    CHECK(options->restarts == 2);
    CHECK(options->attempts == 3);
    CHECK(options->end_fd == 5);
    CHECK(options->hold);
    CHECK_FALSE(options->poll_s);
}

TEST_CASE("a wrong command line is refused", "[helper][errors]") {
    const auto words = GENERATE(values<std::vector<std::string>>({
        {},
        {"--job", "7", "--dir", "/scratch"},
        {"--job", "-7", "--dir", "/scratch", "--end-fd", "0"},
        {"--job", "7", "--dir", "", "--end-fd", "0"},
        {"--job", "7", "--dir", "/scratch", "--end-fd"},
        {"--job", "7", "--dir", "/scratch", "--end-fd", "0", "--interval", "nan"},
        {"--job", "7", "--dir", "/scratch", "--end-fd", "0", "--what", "1"},
    }));
    CHECK_FALSE(parse_watch_options(words));
}

TEST_CASE("a requeued job is told by scontrol", "[helper]") {
    const test::ScopedVariable zone{"TZ", "UTC"};
    ::tzset();
    const auto job = parse_job_state(
        "JobId=7 JobName=a JobState=FAILED\n"  // a name is the user's
        "   UserId=me(1000) GroupId=me(1000) MCS_label=N/A\n"
        "   JobState=COMPLETING Reason=JobHeldUser Dependency=(null)\n"
        "   Requeue=1 Restarts=4 BatchFlag=1 Reboot=0 ExitCode=0:9\n"
        "   DerivedExitCode=1:0\n"
        "   SubmitTime=1970-01-02T00:00:10 EligibleTime=Unknown\n"
        "   Command=/home/me/JobState=RUNNING\n"
        "   Comment=a b = c \n");
    CHECK(job.state == "COMPLETING");
    CHECK(job.reason == "JobHeldUser");
    CHECK(job.restarts == 4);
    CHECK(job.exit_code == "0:9");
    CHECK(job.worst_step == "1:0");
    CHECK(job.submitted_s == 86410.0);
    CHECK(job.comment == "a b = c");
}

TEST_CASE("a node that fails under the batch step is no longer waited for", "[helper]") {
    struct Case {
        std::string state, nodes, host;
        bool is_lost;
    };
    const auto [state, nodes, host, is_lost] = GENERATE(values<Case>({
        {"COMPLETING", "n02", "n01", true},  // seen on 22.05
        {"COMPLETING", "n[01-02]", "n01", false},
        {"COMPLETING", "n01", "n01", false},
        {"RUNNING", "n02", "n01", false},
        {"COMPLETING", "(null)", "n01", false},
        {"COMPLETING", "n02", "", false},
    }));
    CAPTURE(state, nodes, host);
    const auto job = parse_job_state("   JobState=" + state + " Reason=None\n   NodeList=" + nodes +
                                     "\n   BatchHost=" + host + "\n");
    CHECK(has_lost_batch_host(job) == is_lost);
}

TEST_CASE("of what is no job nothing is read", "[helper]") {
    const auto job = parse_job_state("slurm_load_jobs error: Invalid job id specified\n");
    CHECK(job.state.empty());
    CHECK_FALSE(job.submitted_s);
}

TEST_CASE("a task of an array is named so that the others are left alone", "[helper]") {
    CHECK(SlurmJob{12}.name() == "12");
    const test::ScopedVariable array{"SLURM_ARRAY_JOB_ID", "10"};
    const test::ScopedVariable task{"SLURM_ARRAY_TASK_ID", "3"};
    CHECK(SlurmJob{12}.name() == "10_3");
}
