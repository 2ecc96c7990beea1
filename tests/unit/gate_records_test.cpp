#include "diagnose/node_use.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/gates.hpp"

namespace diagnose = railhead::diagnose;
using namespace railhead::test;
using Catch::Matchers::WithinRel;
using diagnose::GateVerdict;
using diagnose::JobAttempt;

// -- How nodes were used -------------------------------------------------------------------------

TEST_CASE("time of nodes is that of hand", "[gate][use]") {
    // n1 runs a from 100 to 400, b from 460 to 800 (a change of 60 s); n2 runs b too, is out of
    // service from 700 on, and c from 900 to 1000 while it drains: neither counts.
    auto records =
        records_of({attempt("a", "n1", 1, 8, 100, 400), attempt("b", "n[1-2]", 2, 8, 460, 800),
                    attempt("c", "n2", 1, 8, 900, 1000)});
    records.attempts[1].submit_s = gate_start + 430;  // it waits for 30 s of the 60
    records.events.push_back({"n2", gate_start + 700, std::nullopt, "DRAIN", "fan", {}});
    const auto use =
        diagnose::use_of(records, {{"n1", 8}, {"n2", 8}}, gate_start, gate_start + 1000);

    CHECK(use.in_service_s == 1000 + 700);
    CHECK(use.busy_s == 300 + 340 + 240);
    CHECK(use.in_service_gpu_s == 8 * 1700);
    CHECK(use.busy_gpu_s == 8 * 300 + 4 * 340 + 4 * 240);  // b has four on each node
    CHECK(use.changes == 2);                               // n1: a to b; n2: b to c
    CHECK(use.idle_s == 60 + 0);
    CHECK(use.idle_waited_s == 30);
    CHECK(use.median_idle_s == 30);
    CHECK(use.mean_idle_s() == 30);
    CHECK(use.longest.node == "n1");
    CHECK(use.longest.end_s - use.longest.begin_s == 60);
}

TEST_CASE("what is not between two jobs is no change", "[gate][use]") {
    struct Case {
        std::string why;
        std::vector<JobAttempt> attempts;
        std::uint64_t changes;
        double idle_s;
    };
    auto running = attempt("b", "n1", 1, 8, 500, 0, "RUNNING");
    running.end_s.reset();
    const std::vector<Case> cases{
        {"one job alone", {attempt("a", "n1", 1, 8, 0, 500)}, 0, 0},
        {"jobs side by side",
         {attempt("a", "n1", 1, 4, 0, 500), attempt("b", "n1", 1, 4, 100, 400)},
         0,
         0},
        {"a third behind two side by side waits for the last of them",
         {attempt("a", "n1", 1, 4, 0, 500), attempt("b", "n1", 1, 4, 100, 400),
          attempt("c", "n1", 1, 4, 520, 600)},
         1,
         20},
        {"a job that runs has no end", {attempt("a", "n1", 1, 8, 0, 400), running}, 1, 100},
        {"the first ended before the window",
         {attempt("a", "n1", 1, 8, -500, -100), attempt("b", "n1", 1, 8, 200, 400)},
         0,
         0},
        {"one that was cancelled as it waited",
         {attempt("a", "n1", 1, 8, 0, 500), attempt("b", "", 0, 0, 600, 600, "CANCELLED by 7")},
         0,
         0},
        {"the same record twice",
         {attempt("a", "n1", 1, 8, 0, 500), attempt("a", "n1", 1, 8, 0, 500)},
         0,
         0},
        {"another node",
         {attempt("a", "n7", 1, 8, 0, 100), attempt("b", "n7", 1, 8, 300, 400)},
         0,
         0},
    };
    for (const auto& one : cases) {
        CAPTURE(one.why);
        const auto use =
            diagnose::use_of(records_of(one.attempts), {{"n1", 8}}, gate_start, gate_start + 1000);
        CHECK(use.changes == one.changes);
        CHECK(use.idle_s == one.idle_s);
        CHECK(use.busy_gpu_s <= use.in_service_gpu_s);
    }
}

// -- Scheduling ----------------------------------------------------------------------------------

TEST_CASE("nodes idle for at most five minutes between jobs", "[gate]") {
    struct Case {
        std::string why;
        std::int64_t gap_s;
        std::string verdict;
    };
    const auto c = GENERATE(values<Case>({{"well below", 60, "pass"},
                                          {"as long as it may be", 300, "pass"},
                                          {"a second more", 301, "fail"}}));
    CAPTURE(c.why);
    const auto records = records_of(
        {attempt("1", "n1", 1, 8, 0, 1000), attempt("2", "n1", 1, 8, 1000 + c.gap_s, 3000)});
    auto about = question();
    about.records = &records;
    const auto check = ask(about, "idle");
    CHECK(name_of(check.verdict) == c.verdict);
    CHECK(check.value == static_cast<double>(c.gap_s));
    CHECK(check.from == "jobs.txt, 50 min");
}

TEST_CASE("GPUs are in jobs for 85 % of their time in service", "[gate]") {
    struct Case {
        std::string why;
        std::uint64_t gpus;      // of 16, all the time
        std::int64_t drained_s;  // of 1000, one of the nodes, which then has no job
        std::string verdict;
        double share;
    };
    const auto c = GENERATE(values<Case>({
        {"all", 16, 0, "pass", 1},
        {"near", 14, 0, "pass", 0.875},
        {"near miss", 13, 0, "fail", 0.8125},
        {"time out of service does not count", 14, 400, "pass", 0.875},
    }));
    CAPTURE(c.why);
    auto records = records_of({attempt("1", "n[1-2]", 2, c.gpus, 0, 1000)});
    records.nodes = {node("n1", 8), node("n2", 8), node("login", 0)};
    if (c.drained_s > 0) {
        records.events.push_back({"n2", gate_start, gate_start + c.drained_s, "DRAIN", "", {}});
    }
    const diagnose::SlurmSettings settings{config("cpu,node,gres/gpu", "sched/backfill", "OFF"),
                                           "config"};
    auto about = question();
    about.records = &records;
    about.settings = &settings;
    const auto check = ask(about, "utilization");
    CHECK(name_of(check.verdict) == c.verdict);
    CHECK_THAT(check.value.value(), WithinRel(c.share, 1e-9));
}

TEST_CASE("utilization is unknown where records do not tell it", "[gate]") {
    struct Case {
        std::string why;
        std::string tres;
        bool has_nodes, has_gpus;
        std::string missing;
    };
    const auto c = GENERATE(values<Case>({
        {"accounting does not count GPUs", "cpu,mem,node,billing", true, false,
         "AccountingStorageTRES has no gres/gpu (config:2)"},
        {"even where records have some", "cpu,mem,node,billing", true, true,
         "AccountingStorageTRES has no gres/gpu (config:2)"},
        {"no job has GPUs", "cpu,gres/gpu", true, false, "no record has one"},
        {"nodes are not known", "cpu,gres/gpu:h100", false, true, "which nodes there are"},
    }));
    CAPTURE(c.why);
    auto records = records_of({attempt("1", "n1", 1, c.has_gpus ? 8U : 0U, 0, 1000)});
    if (c.has_nodes) {
        records.nodes = {node("n1", 8)};
    }
    const diagnose::SlurmSettings settings{config(c.tres, "sched/backfill", "OFF"), "config"};
    auto about = question();
    about.records = &records;
    about.settings = &settings;
    const auto check = ask(about, "utilization");
    CHECK(check.verdict == GateVerdict::unknown);
    REQUIRE(check.missing.size() == 1);
    CHECK_THAT(check.missing.front(), ContainsSubstring(c.missing));
    CHECK_FALSE(check.run.empty());
}

TEST_CASE("settings of the scheduler are looked at", "[gate]") {
    struct Case {
        std::string scheduler, preempt, backfill, gang;
    };
    const auto c = GENERATE(values<Case>({{"sched/backfill", "OFF", "pass", "pass"},
                                          {"sched/builtin", "REQUEUE", "fail", "pass"},
                                          {"sched/backfill", "GANG,SUSPEND", "pass", "fail"}}));
    const auto text = config("cpu", c.scheduler, c.preempt);
    const diagnose::SlurmSettings settings{text, "scontrol show config"};
    auto about = question();
    CHECK(verdict_of(about, "backfill") == "unknown");
    CHECK(verdict_of(about, "gang") == "unknown");
    about.settings = &settings;
    CHECK(verdict_of(about, "backfill") == c.backfill);
    CHECK(verdict_of(about, "gang") == c.gang);
    CHECK(ask(about, "backfill").from == "scontrol show config:7");
}

TEST_CASE("backfill is told when it does not look far enough", "[gate]") {
    const diagnose::SlurmSettings settings{config("cpu", "sched/backfill", "OFF"), "config"};
    for (const auto run_s : {3600, 3601}) {  // bf_window is an hour
        const auto records = records_of({attempt("1", "n1", 1, 8, 0, run_s)});
        auto about = question();
        about.records = &records;
        about.settings = &settings;
        CHECK(ask(about, "backfill").advice.empty() == (run_s == 3600));
    }
}

TEST_CASE("slurm.conf is read as Slurm does, and its gaps are defaults", "[gate]") {
    struct Case {
        std::string why, text, key;
        std::optional<std::string> value;
    };
    const auto c = GENERATE(values<Case>({
        {"a key", "ClusterName=a\nSchedulerType=sched/builtin\n", "SchedulerType", "sched/builtin"},
        {"in any case", "clustername=a\nschedulertype=sched/builtin\n", "SchedulerType",
         "sched/builtin"},
        {"a comment", "ClusterName=a\n#PreemptMode=GANG\n", "PreemptMode", "OFF"},
        {"the last counts", "ClusterName=a\nPreemptMode=GANG\nPreemptMode=REQUEUE\n", "PreemptMode",
         "REQUEUE"},
        {"an included file may have it", "ClusterName=a\nInclude more.conf\n", "PreemptMode",
         std::nullopt},
        {"(null)", "Configuration data as of now\nPreemptMode = (null)\n", "PreemptMode", ""},
        {"scontrol prints all", "Configuration data as of now\nA = b\n", "PreemptMode",
         std::nullopt},
    }));
    CAPTURE(c.why);
    REQUIRE(diagnose::SlurmSettings::is_known(c.text));
    const auto found = diagnose::SlurmSettings{c.text, "f"}.find(c.key);
    CHECK(found.has_value() == c.value.has_value());
    if (found && c.value) {
        CHECK(found->value == *c.value);
    }
}

TEST_CASE("jobs that this user may not see make the cluster unknown", "[gate]") {
    const auto records =
        records_of({attempt("1", "n1", 1, 8, 0, 100), attempt("2", "n1", 1, 8, 200, 300)});
    auto about = question();
    about.records = &records;
    about.hidden_jobs = "jobs of others: PrivateData=jobs";
    for (const auto* id : {"idle", "utilization", "completion", "recovery"}) {
        CAPTURE(id);
        CHECK(verdict_of(about, id) == "unknown");
    }
}

// -- Failures ------------------------------------------------------------------------------------

TEST_CASE("99.8 % of attempts are not ended by a node", "[gate]") {
    struct Case {
        int lost;
        std::string verdict;
        double share;
    };
    const auto c = GENERATE(values<Case>({{0, "pass", 1}, {2, "pass", 0.998}, {3, "fail", 0.997}}));
    std::vector<JobAttempt> attempts;
    for (int i = 0; i < 1000; ++i) {
        attempts.push_back(attempt(fmt::format("{}", i), "n1", 1, 8, i * 100, i * 100 + 90,
                                   i < c.lost   ? "NODE_FAIL"
                                   : i % 2 != 0 ? "FAILED"
                                                : "COMPLETED"));
    }
    attempts.push_back(attempt("running", "n1", 1, 8, 100000, 100100, "RUNNING"));
    attempts.back().end_s.reset();
    const auto records = records_of(attempts);
    auto about = question();
    about.records = &records;
    const auto check = ask(about, "completion");
    CHECK(name_of(check.verdict) == c.verdict);
    CHECK(check.value == c.share);
}

TEST_CASE("a job that failed with a node's event counts as ended by it", "[gate]") {
    auto records = records_of(
        {attempt("1", "n1", 1, 8, 0, 1000, "FAILED"), attempt("2", "n2", 1, 8, 0, 1000, "FAILED")});
    records.events.push_back({"n1", gate_start + 990, std::nullopt, "DOWN*", "Not responding", {}});
    auto about = question();
    about.records = &records;
    CHECK(ask(about, "completion").value == 0.5);
}

TEST_CASE("a job is back within a quarter of an hour", "[gate]") {
    struct Case {
        std::string why;
        std::vector<JobAttempt> attempts;
        std::string verdict;
        std::optional<double> value;
    };
    const std::vector<Case> cases{
        {"nothing failed", {attempt("1", "n1", 1, 8, 0, 1000)}, "pass", 0},
        {"just in time",
         {attempt("1", "n1", 1, 8, 0, 1000, "NODE_FAIL"), attempt("1", "n2", 1, 8, 1900, 3000)},
         "pass",
         900},
        {"a second late",
         {attempt("1", "n1", 1, 8, 0, 1000, "NODE_FAIL"), attempt("1", "n2", 1, 8, 1901, 3000)},
         "fail",
         901},
        {"the mean of two",
         {attempt("1", "n1", 1, 8, 0, 1000, "NODE_FAIL"),
          attempt("1", "n2", 1, 8, 1100, 2000, "NODE_FAIL"), attempt("1", "n3", 1, 8, 2300, 3000)},
         "pass",
         200},
        {"it never came back",
         {attempt("1", "n1", 1, 8, 0, 1000, "NODE_FAIL"), attempt("2", "n2", 1, 8, 1100, 2000)},
         "unknown",
         std::nullopt},
    };
    for (const auto& one : cases) {
        CAPTURE(one.why);
        const auto records = records_of(one.attempts);
        auto about = question();
        about.records = &records;
        const auto check = ask(about, "recovery");
        CHECK(name_of(check.verdict) == one.verdict);
        CHECK(check.value == one.value);
    }
}

TEST_CASE("of a job only its own attempts count for failures", "[gate]") {
    const auto records = records_of(
        {attempt("1", "n1", 1, 8, 0, 1000, "NODE_FAIL"), attempt("12", "n2", 1, 8, 0, 1000),
         attempt("2_1", "n3", 1, 8, 0, 1000), attempt("2_2", "n4", 1, 8, 0, 1000, "NODE_FAIL")});
    auto about = question();
    about.records = &records;
    for (const auto& [job, share] : {std::pair{"1", 0.0}, {"12", 1.0}, {"2", 0.5}, {"2_1", 1.0}}) {
        CAPTURE(job);
        about.jobs = {job};
        CHECK(ask(about, "completion").value == share);
    }
}

TEST_CASE("the interval is near Daly's optimum", "[gate]") {
    // 128 nodes, 6.50 failures in 1000 node-days: M = 103846 s.  Daly, eq. 37, at a cost of 60 s:
    // sqrt(2 x 60 x M) = 3530.1; x (1 + 0.005666 + 0.000032) - 60 = 3490.2 s.
    struct Case {
        std::string why;
        double interval_s;
        std::string verdict;
        double ratio;
    };
    const auto c = GENERATE(values<Case>({{"the optimum", 3490.2, "pass", 1},
                                          {"nearly twice", 6970, "pass", 1.99702},
                                          {"more than twice", 6990, "fail", 2.00275},
                                          {"half, and more", 1755, "pass", 0.50284},
                                          {"less than half", 1740, "fail", 0.49854}}));
    CAPTURE(c.why);
    auto about = question();
    about.interval_s = c.interval_s;
    about.cost_s = 60;
    about.nodes = 128;
    about.per_1000_node_days = 6.5;
    const auto check = ask(about, "interval");
    CHECK(name_of(check.verdict) == c.verdict);
    CHECK_THAT(check.value.value(), WithinRel(c.ratio, 1e-3));
}

TEST_CASE("the interval is unknown without what it is made of", "[gate]") {
    for (const int without : {0, 1, 2}) {
        auto about = question();
        about.interval_s = without == 0 ? std::nullopt : std::optional{3600.0};
        about.cost_s = without == 1 ? std::nullopt : std::optional{60.0};
        about.nodes = without == 2 ? std::nullopt : std::optional{std::uint64_t{128}};
        const auto check = ask(about, "interval");
        CAPTURE(without);
        CHECK(check.verdict == GateVerdict::unknown);
        CHECK(check.missing.size() == 1);
        CHECK(check.run.size() == 1);
    }
}

TEST_CASE("failures that were counted come before a published rate", "[gate]") {
    // One failure in 10 node-days: 100 in 1000, and an optimum of sqrt(6.5 / 100) of the usual one.
    const auto records = records_of({attempt("1", "n[1-10]", 10, 80, 0, 86400, "NODE_FAIL")});
    auto about = question();
    about.records = &records;
    about.interval_s = 3600;
    about.cost_s = 60;
    about.nodes = 128;
    const auto check = ask(about, "interval");
    REQUIRE(check.details.size() > 1);
    CHECK_THAT(check.details[1], ContainsSubstring("100 failures in 1000"));
    CHECK(check.verdict == GateVerdict::fail);
}
