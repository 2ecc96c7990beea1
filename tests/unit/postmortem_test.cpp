#include "diagnose/postmortem.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"

namespace diagnose = railhead::diagnose;
using Catch::Matchers::WithinAbs;
using diagnose::JobAttempt;
using railhead::test::golden;
using railhead::test::run;
using railhead::test::ScopedVariable;
using railhead::test::TempDir;

namespace {

constexpr std::int64_t hour = 3600;
constexpr std::int64_t t0 = 1'796'083'200;  // 2026-12-01T00:00:00Z

JobAttempt attempt(std::string id, std::string nodes, std::uint64_t count, std::int64_t from_h,
                   std::int64_t to_h, std::string state) {
    JobAttempt job;
    job.number = static_cast<std::uint32_t>(std::stoul(id));
    job.id = std::move(id);
    job.node_list = std::move(nodes);
    job.nodes = count;
    job.gpus = count * 8;
    job.start_s = t0 + from_h * hour;
    job.end_s = t0 + to_h * hour;
    job.state = std::move(state);
    return job;
}

/// Job 12 on four nodes for ten hours until n3 died; its next attempt starts two hours later.  n3
/// stays away for five hours.
diagnose::SlurmRecords dead_node() {
    diagnose::SlurmRecords records;
    records.sources.add("sacct.txt");
    records.attempts = {attempt("12", "n[1-4]", 4, 0, 10, "NODE_FAIL"),
                        attempt("12", "n[1-2,4-5]", 4, 12, 20, "COMPLETED")};
    records.attempts[0].failed_node = "n3";
    records.events = {{"n3", t0 + 10 * hour, t0 + 15 * hour, "DOWN*", "Not responding", {}}};
    records.latest_s = t0 + 20 * hour;
    return records;
}

diagnose::Postmortem postmortem(const diagnose::SlurmRecords& records,
                                const diagnose::PostmortemQuestion& question) {
    return diagnose::make_postmortem(records, question).value();
}

diagnose::PostmortemQuestion about(std::vector<std::string> jobs) {
    diagnose::PostmortemQuestion question;
    question.jobs = std::move(jobs);
    return question;
}

}  // namespace

TEST_CASE("each end has the cause that its records tell, and no more", "[postmortem]") {
    struct Case {
        const char *state, *exit_code, *event_state, *reason;  // reason null: no event
        const char* id;
        bool is_determined;
    };
    const std::vector<Case> cases{
        {"NODE_FAIL", "0:0", "DOWN*", "Not responding", "node-silent", false},
        {"NODE_FAIL", "0:0", "DOWN", "", "node-failed", false},
        {"NODE_FAIL", "0:0", "DOWN", "Node unexpectedly rebooted", "node-rebooted", false},
        {"NODE_FAIL", "0:0", "DOWN", "NHC: GPU 5 has fallen off the bus", "node-reason", true},
        {"NODE_FAIL", "0:0", "DOWN", "kernel upgrade", "node-planned", true},
        {"NODE_FAIL", "0:0", "", nullptr, "node-unknown", false},
        {"FAILED", "1:0", "DRAIN", "railhead: rail mlx5_3 is down", "node-reason", true},
        {"FAILED", "1:0", "DRAIN", "kernel upgrade", "exit-status", false},
        {"FAILED", "1:0", "", nullptr, "exit-status", false},
        {"FAILED", "0:9", "", nullptr, "signal", false},
        {"FAILED", "137:0", "", nullptr, "signal", false},
        {"OUT_OF_MEMORY", "0:125", "", nullptr, "out-of-memory", true},
        {"TIMEOUT", "0:0", "", nullptr, "time-limit", true},
        {"PREEMPTED", "0:0", "", nullptr, "preempted", true},
        {"CANCELLED by 1000", "0:0", "", nullptr, "cancelled", true},
        {"REQUEUED", "0:0", "", nullptr, "requeued", true},
        {"BOOT_FAIL", "0:0", "", nullptr, "boot-fail", false},
        {"FAILED", "0:0", "", nullptr, "unknown", false},
    };
    for (const auto& c : cases) {
        CAPTURE(c.state, c.exit_code, c.id);
        diagnose::SlurmRecords records;
        records.sources.add("x");
        records.attempts = {attempt("1", "n[1-4]", 4, 0, 10, c.state)};
        records.attempts[0].exit_code = c.exit_code;
        if (c.reason != nullptr) {
            records.events = {{"n2", t0 + 10 * hour - 60, {}, c.event_state, c.reason, {}}};
        }
        const auto answer = postmortem(records, about({"1"}));
        REQUIRE(answer.incidents.size() == 1);
        const auto& cause = answer.incidents[0].cause;
        CHECK(cause.id == c.id);
        CHECK(cause.is_determined == c.is_determined);
        CHECK(cause.collect.empty() == c.is_determined);
        CHECK_FALSE(cause.what.empty());
    }
}

TEST_CASE("hours of GPUs are those of hand", "[postmortem]") {
    const auto records = dead_node();
    auto question = about({"12"});
    auto impact = postmortem(records, question).incidents.at(0).impact;
    CHECK_THAT(impact.recomputed, WithinAbs(32 * 10, 1e-9));  // no record: all of it
    CHECK(impact.has_upper_bounds);
    CHECK_THAT(impact.queue, WithinAbs(32 * 2, 1e-9));
    CHECK_THAT(impact.restart, WithinAbs(32 * 300.0 / 3600, 1e-9));
    CHECK_THAT(impact.idle, WithinAbs(8 * 5, 1e-9));  // the GPUs of n3
    CHECK_THAT(impact.lost(), WithinAbs(320 + 64 + 32.0 / 12 + 40, 1e-9));

    railhead::checkpoint::Record record;
    record.job = 12;
    record.attempts = {
        {0, static_cast<double>(t0 + 30), {}, {}, 9, static_cast<double>(t0 + 9 * hour), false}};
    question.checkpoints = {record};
    question.restart_s = 3600;
    impact = postmortem(records, question).incidents.at(0).impact;
    CHECK_THAT(impact.recomputed, WithinAbs(32, 1e-9));
    CHECK_THAT(impact.restart, WithinAbs(32, 1e-9));
    CHECK_FALSE(impact.has_upper_bounds);
}

TEST_CASE("a job that hung with its node counts as idle until it ended", "[postmortem]") {
    auto records = dead_node();
    records.events[0].begin_s -= 300;  // within the window before the end
    const auto impact = postmortem(records, about({"12"})).incidents.at(0).impact;
    CHECK_THAT(impact.idle, WithinAbs(32.0 / 12 + 40, 1e-9));
    CHECK_THAT(impact.recomputed, WithinAbs(32 * (10 - 1.0 / 12), 1e-9));
}

TEST_CASE("jobs of one incident stand together, others apart", "[postmortem]") {
    auto records = dead_node();
    records.attempts.push_back(attempt("13", "n3", 1, 2, 10, "NODE_FAIL"));  // on the same node
    records.attempts.back().failed_node = "n3";
    records.attempts.push_back(attempt("14", "n9", 1, 2, 10, "NODE_FAIL"));  // the same moment
    records.attempts.push_back(attempt("15", "n3", 1, 2, 19, "NODE_FAIL"));  // another day
    records.attempts.back().failed_node = "n3";
    auto answer = postmortem(records, about({"12", "13", "14", "15"}));
    REQUIRE(answer.incidents.size() == 3);
    CHECK(answer.incidents[0].endings.size() == 2);
    CHECK_THAT(answer.incidents[0].impact.idle, WithinAbs(40, 1e-9));  // n3 counts once
    CHECK(answer.well.size() == 1);

    // A leaf that dies takes its nodes at once, for one reason.
    records.events.push_back({"n9", t0 + 10 * hour + 30, {}, "DOWN*", "Not responding", {}});
    answer = postmortem(records, about({"12", "14"}));
    CHECK(answer.incidents.size() == 1);
}

TEST_CASE("a clue of the job and of the time is the root cause", "[postmortem]") {
    const auto records = dead_node();
    auto question = about({"12"});
    question.clues = {{t0 + 5 * hour, "", "n3", "Xid 13", {}, {}, "dmesg:1"},
                      {t0 + 10 * hour - 5, "", "n9", "Xid 48", {}, {}, "dmesg:2"},
                      {t0 + 10 * hour - 5, "", "n3", "Xid 79", {"replace it"}, {}, "dmesg:3"}};
    const auto answer = postmortem(records, question);
    const auto& cause = answer.incidents.at(0).cause;
    CHECK(cause.is_determined);
    CHECK(cause.what == "Xid 79 (dmesg:3)");
    CHECK(cause.fix == std::vector<std::string>{"replace it"});
}

TEST_CASE("a job that is not in the records is named", "[postmortem]") {
    const auto answer = diagnose::make_postmortem(dead_node(), about({"12", "99"}));
    REQUIRE_FALSE(answer);
    CHECK_THAT(answer.error().message, ContainsSubstring("99"));
}

namespace {

const std::string sacct =
    "JobID|JobIDRaw|User|State|ExitCode|NodeList|AllocNodes|AllocTRES|Submit|Start|End|Reason|"
    "JobName\n"
    "12|12|u|NODE_FAIL|0:0|n[1-4]|4|gres/"
    "gpu=32|2026-11-30T23:50:00|2026-12-01T00:00:00|2026-12-01T10:00:00|None|llama\n"
    "12|12|u|COMPLETED|0:0|n[1-2,4-5]|4|gres/"
    "gpu=32|2026-12-01T10:00:00|2026-12-01T12:00:00|2026-12-01T20:00:00|None|llama\n"
    "13|13|u|FAILED|1:0|n6|1|gres/"
    "gpu=8|2026-12-01T01:00:00|2026-12-01T01:00:00|2026-12-01T03:00:00|None|eval\n";
const std::string events =
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    "c|n3|2026-12-01T10:00:00|2026-12-01T15:00:00|DOWN*|Not responding|slurm\n";
const std::string controller_log =
    "[2026-12-01T09:58:20.100] error: Nodes n3 not responding\n"
    "[2026-12-01T10:00:00.100] error: Nodes n3 not responding, setting DOWN\n"
    "[2026-12-01T10:00:00.101] requeue job JobId=12 due to failure of node n3\n";

/// The user's own records are not to be found.
struct Alone {
    TempDir folder;
    ScopedVariable state{"XDG_STATE_HOME", folder.path("none")};
};

}  // namespace

TEST_CASE("railhead postmortem writes Markdown from files", "[postmortem][golden]") {
    const Alone alone;
    const auto ran =
        run({"postmortem", "12", "13", "--sacct", alone.folder.write("sacct.txt", sacct),
             "--events", alone.folder.write("events.txt", events), "--log",
             alone.folder.write("slurmctld.log", controller_log)});
    CHECK(ran.err.empty());
    CHECK(ran.status == 0);
    auto text = ran.out;
    for (auto at = text.find(alone.folder.path("")); at != std::string::npos;
         at = text.find(alone.folder.path(""))) {
        text.replace(at, alone.folder.path("").size() + 1, "");
    }
    CHECK(text == golden("golden/postmortem.md", text));
}

TEST_CASE("GPU hours of a job whose GPUs are not known are not 0", "[postmortem]") {
    const Alone alone;
    const auto file =
        alone.folder.write("sacct.txt",
                           "JobID|State|ExitCode|NodeList|AllocNodes|Start|End\n"
                           "12|NODE_FAIL|0:0|n[1-4]|4|2026-12-01T00:00:00|2026-12-01T10:00:00\n");
    const auto ran = run({"postmortem", "12", "--sacct", file});
    CHECK_THAT(ran.out, ContainsSubstring("| **lost** | not known |"));
    CHECK_THAT(ran.out, !ContainsSubstring("0.0"));
}

TEST_CASE("railhead mtbf and lemons tell rate, definition and interval", "[failures][golden]") {
    const Alone alone;
    const auto file = alone.folder.write("sacct.txt", sacct);
    const auto more = alone.folder.write("events.txt", events);
    const auto mtbf = run({"mtbf", file, more, "--gang-gpus", "1000"});
    CHECK(mtbf.err.empty());
    CHECK(mtbf.status == 0);
    CHECK(mtbf.out == golden("golden/mtbf.txt", mtbf.out));
    const auto lemons = run({"lemons", file, more});
    CHECK(lemons.err.empty());
    CHECK(lemons.status == 0);
    CHECK(lemons.out == golden("golden/lemons.txt", lemons.out));
    for (const auto& text : {mtbf.out, lemons.out}) {
        for (std::size_t at = 0; at < text.size();) {
            const auto end = std::min(text.find('\n', at), text.size());
            CHECK(railhead::report::columns(text.substr(at, end - at)) <= 80);
            at = end + 1;
        }
    }

    const auto json = nlohmann::json::parse(run({"mtbf", file, more, "--json"}).out);
    CHECK(json["schema"] == "railhead.mtbf/1");
    CHECK(json["failures"] == 1);
    CHECK(json["list"][0]["node"] == "n3");
    // 72 node-hours in the attempts of job 12, two of job 13.
    CHECK_THAT(json["node_days"].get<double>(), WithinAbs(74.0 / 24, 1e-6));
    CHECK(nlohmann::json::parse(run({"lemons", file, more, "--json"}).out)["schema"] ==
          "railhead.lemons/1");
}

TEST_CASE("wrong options and files of mtbf are told", "[failures]") {
    const Alone alone;
    const auto file = alone.folder.write("sacct.txt", sacct);
    const auto other = alone.folder.write("train.log", "iteration 1 | loss 2\n");
    struct Case {
        std::vector<std::string> words;
        const char* message;
    };
    const std::vector<Case> cases{
        {{"mtbf", file, "--definition", "xid"}, "none of node-fail, rsc, node-down"},
        {{"mtbf", file, "--since", "yesterday"}, "--since \"yesterday\""},
        {{"mtbf", file, "--nodes", "n[1"}, "--nodes: "},
        {{"mtbf", other}, "none of these files"},
        {{"mtbf", alone.folder.path("gone")}, "cannot open"},
        {{"lemons", file, "--for", "30d"}, "--write"},
        {{"lemons", file, "--write", "x", "--for", "30"}, "--for"},
        {{"postmortem", "12", "--sacct", file, "--restart=-5m"}, "is negative"},
        {{"postmortem", "99", "--sacct", file}, "no job 99"},
        {{"postmortem", "12;", "--log", file}, "is no job"},
    };
    for (const auto& c : cases) {
        const auto ran = run(c.words);
        CAPTURE(c.message);
        CHECK(ran.status == 2);
        CHECK_THAT(ran.err, ContainsSubstring(c.message));
    }
    const auto ran = run({"mtbf", file, other});
    CHECK(ran.status == 0);
    CHECK_THAT(ran.err, ContainsSubstring("train.log\" is not read"));
}

TEST_CASE("lemons are written for the placement rule, and people's lines stay", "[lemons]") {
    const Alone alone;
    // Node n1 fails ten times, forty others not at all.
    std::string text =
        "JobID|State|NodeList|Start|End|FailedNode\n1|COMPLETED|n[1-41]|2026-01-01T00:00:00|2026-"
        "02-01T00:00:00|\n";
    for (int i = 1; i <= 10; ++i) {
        text += fmt::format(
            "{}|NODE_FAIL|n[1-2]|2026-01-{:02}T00:00:00|2026-01-{:02}T01:00:00|n1\n", i + 1, i, i);
    }
    const auto file = alone.folder.write("sacct.txt", text);
    const auto list = alone.folder.write("railhead.lemons", "# by hand\nn7  never  its fan\n");

    auto ran = run({"lemons", file, "--write", list});
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, ContainsSubstring("--update"));
    CHECK(railhead::read_file(list).value() == "# by hand\nn7  never  its fan\n");

    for (int i = 0; i < 2; ++i) {  // again: the same
        ran = run({"lemons", file, "--write", list, "--update"});
        CHECK(ran.status == 1);
        const auto written = railhead::read_file(list).value();
        CHECK_THAT(written, Catch::Matchers::StartsWith("# by hand\nn7  never  its fan\nn1  2"));
        CHECK_THAT(written, ContainsSubstring("railhead lemons: 10 failures in 31 days"));
        CHECK(std::count(written.begin(), written.end(), '\n') == 3);
    }
    const auto fresh = alone.folder.path("fresh.lemons");
    CHECK(run({"lemons", file, "--write", fresh}).status == 1);
    CHECK_THAT(railhead::read_file(fresh).value(), ContainsSubstring("n1  2"));
}
