#include "diagnose/gate.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "diagnose/node_use.hpp"
#include "policy/parse.hpp"
#include "report/gate.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/diagnoses.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "support/temp_dir.hpp"
#include "training/flops.hpp"

namespace diagnose = railhead::diagnose;
namespace policy = railhead::policy;
namespace report = railhead::report;
namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using diagnose::GateCheck;
using diagnose::GateQuestion;
using diagnose::GateVerdict;
using diagnose::JobAttempt;
using diagnose::NodeRecord;
using diagnose::SlurmRecords;
using railhead::test::run;
using railhead::test::TempDir;

namespace {

constexpr std::int64_t start = 1'000'000;

/// Times count from `start`.
JobAttempt attempt(std::string id, std::string nodes, std::uint64_t count, std::uint64_t gpus,
                   std::int64_t begin_s, std::int64_t end_s, std::string state = "COMPLETED") {
    JobAttempt job;
    job.id = std::move(id);
    job.node_list = std::move(nodes);
    job.nodes = count;
    job.gpus = gpus;
    job.start_s = start + begin_s;
    job.end_s = start + end_s;
    job.state = std::move(state);
    return job;
}

SlurmRecords records_of(std::vector<JobAttempt> attempts) {
    SlurmRecords records;
    static_cast<void>(records.sources.add("jobs.txt"));
    records.attempts = std::move(attempts);
    for (const auto& job : records.attempts) {
        records.latest_s = std::max(records.latest_s, job.end_s.value_or(0));
    }
    return records;
}

NodeRecord node(std::string name, std::uint64_t gpus) {
    return {std::move(name), "IDLE", gpus, {}};
}

/// A question with what every test needs.
GateQuestion question() {
    GateQuestion about;
    about.catalogue = &training::built_in_catalogue();
    return about;
}

GateCheck ask(const GateQuestion& about, std::string_view id) {
    const auto gate = diagnose::pass_gate(about);
    const auto found = std::ranges::find(gate.checks, id, &GateCheck::id);
    REQUIRE(found != gate.checks.end());
    return *found;
}

std::string verdict_of(const GateQuestion& about, std::string_view id) {
    return std::string{name_of(ask(about, id).verdict)};
}

const training::Accelerator& accelerator(std::string_view name) {
    return **training::find_accelerator(training::built_in_catalogue(), name);
}

/// A run of so many timed steps on GPUs of that kind.
diagnose::Facts run_facts(std::string_view gpu, std::uint64_t gpus, double step_s) {
    diagnose::Facts facts;
    diagnose::TrainingFacts log;
    log.file = facts.sources.add("train.log");
    log.log.runs.emplace_back();
    log.log.runs.front().first_line = 7;
    log.summary.measure = training::Measure::step_s;
    log.summary.timed = 100;
    log.summary.lines = 100;
    log.summary.time.median = step_s;
    facts.hardware.accelerator = &accelerator(gpu);
    facts.hardware.gpus = gpus;
    facts.training.push_back(std::move(log));
    return facts;
}

void set_mfu(diagnose::Facts& facts, double share, training::Precision precision) {
    training::MfuAnswer mfu;
    mfu.accelerator = facts.hardware.accelerator;
    mfu.precision = precision;
    mfu.utilization.mfu = share;
    mfu.utilization.convention = &training::conventions().front();
    mfu.utilization.peak_tflops = facts.hardware.accelerator->peak_tflops(precision).value_or(0);
    mfu.rate.gpus = static_cast<double>(facts.hardware.gpus);
    facts.training.front().mfu = std::move(mfu);
}

policy::GateTargets targets_in(const std::string& toml) {
    const auto read = policy::parse_policy(toml, "railhead.toml");
    if (!read) {
        FAIL(to_string(read.error().front()));
    }
    return read->gate;
}

std::string errors_in(const std::string& toml) {
    const auto read = policy::parse_policy(toml, "railhead.toml");
    std::string text;
    if (!read) {
        for (const auto& error : read.error()) {
            text += to_string(error) + "\n";
        }
    }
    return text;
}

/// nccl-tests over so many nodes of 8 GPUs.
diagnose::BandwidthFacts table(diagnose::Facts& facts, std::uint64_t hosts, double busbw) {
    diagnose::BandwidthFacts found;
    found.file = facts.sources.add("nccl-tests.txt");
    found.table.hosts = hosts;
    found.table.ranks = hosts * 8;
    found.table.rows.push_back({0x1p33, 0, busbw, {}, {}, 0});
    return found;
}

std::string config(std::string_view tres, std::string_view scheduler, std::string_view preempt) {
    return fmt::format(
        "Configuration data as of 2026-12-01T00:00:00\n"
        "AccountingStorageTRES   = {}\nKillOnBadExit           = 1\n"
        "PreemptMode             = {}\nPrivateData             = none\n"
        "SchedulerParameters     = bf_window=60\nSchedulerType           = {}\n",
        tres, preempt, scheduler);
}

}  // namespace

// -- How nodes were used -------------------------------------------------------------------------

TEST_CASE("time of nodes is that of hand", "[gate][use]") {
    // n1 runs a from 100 to 400, b from 460 to 800 (a change of 60 s); n2 runs b too, is out of
    // service from 700 on, and c from 900 to 1000 while it drains: neither counts.
    auto records =
        records_of({attempt("a", "n1", 1, 8, 100, 400), attempt("b", "n[1-2]", 2, 8, 460, 800),
                    attempt("c", "n2", 1, 8, 900, 1000)});
    records.attempts[1].submit_s = start + 430;  // it waits for 30 s of the 60
    records.events.push_back({"n2", start + 700, std::nullopt, "DRAIN", "fan", {}});
    const auto use = diagnose::use_of(records, {{"n1", 8}, {"n2", 8}}, start, start + 1000);

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
            diagnose::use_of(records_of(one.attempts), {{"n1", 8}}, start, start + 1000);
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
        records.events.push_back({"n2", start, start + c.drained_s, "DRAIN", "", {}});
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
    records.events.push_back({"n1", start + 990, std::nullopt, "DOWN*", "Not responding", {}});
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

// -- MFU -----------------------------------------------------------------------------------------

TEST_CASE("the MFU that is wanted depends on accelerator and precision", "[gate]") {
    // 45 % on H100 are 72 % of the best there, 62.5 %.  Of A100's 65.3 % that is 47.016 %, of
    // H100's 44.8 % in fp8 32.256 %.
    struct Case {
        std::string gpu;
        training::Precision precision;
        double mfu;
        std::string verdict;
        double target;
    };
    using training::Precision;
    const auto c = GENERATE(values<Case>({{"h100", Precision::bf16, 0.45, "pass", 0.45},
                                          {"h100", Precision::bf16, 0.449, "fail", 0.45},
                                          {"a100", Precision::bf16, 0.4702, "pass", 0.47016},
                                          {"a100", Precision::bf16, 0.4701, "fail", 0.47016},
                                          {"h100", Precision::fp8, 0.33, "pass", 0.32256},
                                          {"h100", Precision::fp8, 0.32, "fail", 0.32256}}));
    CAPTURE(c.gpu, c.mfu);
    auto facts = run_facts(c.gpu, 64, 1);
    set_mfu(facts, c.mfu, c.precision);
    auto about = question();
    about.facts = &facts;
    const auto check = ask(about, "mfu");
    CHECK(name_of(check.verdict) == c.verdict);
    CHECK_THAT(check.aim.value.value(), WithinRel(c.target, 1e-9));
    CHECK(check.from == "train.log:7");
    CHECK(check.advice.empty() == (c.verdict == "pass"));
}

TEST_CASE("an accelerator without a published run has no target but the site's", "[gate]") {
    auto facts = run_facts("l40s", 8, 1);
    REQUIRE(facts.hardware.accelerator->highest(training::Precision::bf16) == nullptr);
    set_mfu(facts, 0.3, training::Precision::bf16);
    auto about = question();
    about.facts = &facts;
    CHECK(verdict_of(about, "mfu") == "unknown");
    CHECK_FALSE(ask(about, "mfu").missing.empty());
    about.targets = targets_in("[gate.mfu]\nl40s = 0.25\nh100 = 0.5\n");
    CHECK(verdict_of(about, "mfu") == "pass");
    CHECK(ask(about, "mfu").aim.from == "[gate], railhead.toml:2");
    about.targets = targets_in("[gate]\nmfu = 0.35\n");
    CHECK(verdict_of(about, "mfu") == "fail");
}

TEST_CASE("without a log, or a model, the MFU is unknown; what a log prints counts", "[gate]") {
    auto about = question();
    CHECK(verdict_of(about, "mfu") == "unknown");
    auto facts = run_facts("h100", 64, 1);
    facts.training.front().mfu_needs = {"the model: --model NAME"};
    about.facts = &facts;
    CHECK(verdict_of(about, "mfu") == "unknown");
    CHECK(ask(about, "mfu").missing == std::vector<std::string>{"the model: --model NAME"});
    facts.training.front().summary.mfu_printed = 0.5;
    CHECK(verdict_of(about, "mfu") == "pass");
    facts.training.front().summary.mfu_printed = 0.4;
    CHECK(verdict_of(about, "mfu") == "fail");
}

// -- Gradients -----------------------------------------------------------------------------------

TEST_CASE("gradients are sent in the backward pass, by a measured bandwidth", "[gate]") {
    // 8e9 parameters on 64 GPUs.  tp 1: (32 + 16) GB x 63/64 = 47.25 GB over all 64; tp 8: an
    // eighth of it over 8 copies, one a node: 6 GB x 7/8 = 5.25 GB, with busbw x 7/63 on each NIC.
    struct Case {
        std::string why;
        std::uint64_t tp;
        double busbw_gb_per_s, step_s;
        std::string verdict;
        double share;  // of 2/3 of the step
    };
    const auto c = GENERATE(values<Case>({
        {"fast", 1, 350, 1, "pass", 0.135 * 1.5},
        {"just in time", 1, 350, 0.203, "pass", 0.135 * 1.5 / 0.203},
        {"just not", 1, 350, 0.202, "fail", 0.135 * 1.5 / 0.202},
        {"slow", 1, 60, 1, "fail", 0.7875 * 1.5},
        {"a copy a node", 8, 360, 1, "pass", 5.25 / 40 * 1.5},
    }));
    CAPTURE(c.why);
    auto facts = run_facts("h100", 64, c.step_s);
    facts.bandwidth.push_back(table(facts, 8, c.busbw_gb_per_s));
    auto about = question();
    about.facts = &facts;
    about.shape.parameters = 8e9;
    about.layout.tp = c.tp;
    const auto check = ask(about, "all-reduce");
    CHECK(name_of(check.verdict) == c.verdict);
    CHECK_THAT(check.value.value(), WithinRel(c.share, 1e-6));
    CHECK(check.from == "nccl-tests.txt");
}

TEST_CASE("gradients are modelled where nothing was measured", "[gate]") {
    auto facts = run_facts("h100", 64, 1);
    auto about = question();
    about.facts = &facts;
    about.shape.parameters = 8e9;
    about.layout.tp = 8;
    const auto check = ask(about, "all-reduce");
    CHECK(check.verdict == GateVerdict::pass);
    CHECK(check.from == "collective model (railhead allreduce)");
    // 5.25 GB through one NIC of 50 GB/s: 0.105 s at the least, and not twice of it.
    CHECK(check.value.value() > 0.105 * 1.5);
    CHECK(check.value.value() < 0.21 * 1.5);
    std::string advice;
    for (const auto& line : check.advice) {
        advice += line + "\n";
    }
    for (const auto* word :
         {"NCCL_IB_HCA", "NCCL_ALGO", "NCCL_BUFFSIZE", "NCCL_P2P_NET_CHUNKSIZE", "of 50 GB/s"}) {
        CHECK_THAT(advice, ContainsSubstring(word));
    }
}

TEST_CASE("a table of one node says nothing of gradients between nodes", "[gate]") {
    auto facts = run_facts("h100", 64, 1);
    facts.bandwidth.push_back(table(facts, 1, 480));
    auto about = question();
    about.facts = &facts;
    about.shape.parameters = 8e9;
    about.layout.tp = 8;
    CHECK(ask(about, "all-reduce").from == "collective model (railhead allreduce)");
}

TEST_CASE("gradients are unknown without model, layout, step or GPUs", "[gate]") {
    struct Case {
        std::string why, missing;
        std::uint64_t gpus;
        std::optional<std::uint64_t> tp;
        double parameters, step_s;
    };
    const auto c = GENERATE(values<Case>({
        {"no model", "the model", 64, 8, 0, 1},
        {"no layout", "how the model lies", 64, std::nullopt, 8e9, 1},
        {"no GPUs", "how many GPUs", 0, 8, 8e9, 1},
        {"a layout that does not fit", "a layout that 64 GPUs", 64, 7, 8e9, 1},
        {"no step", "the time of a step", 64, 8, 8e9, 0},
    }));
    CAPTURE(c.why);
    auto facts = run_facts("h100", c.gpus, c.step_s);
    auto about = question();
    about.facts = &facts;
    if (c.parameters > 0) {
        about.shape.parameters = c.parameters;
    }
    about.layout.tp = c.tp;
    const auto check = ask(about, "all-reduce");
    CHECK(check.verdict == GateVerdict::unknown);
    REQUIRE(check.missing.size() == 1);
    CHECK_THAT(check.missing.front(), ContainsSubstring(c.missing));
}

TEST_CASE("one copy of a model sends no gradients", "[gate]") {
    auto facts = run_facts("h100", 8, 1);
    auto about = question();
    about.facts = &facts;
    about.shape.parameters = 8e9;
    about.layout.tp = 8;
    CHECK(verdict_of(about, "all-reduce") == "pass");
}

// -- Storage -------------------------------------------------------------------------------------

TEST_CASE("checkpoints take at most a twentieth of the interval", "[gate]") {
    struct Case {
        double cost_s, interval_s;
        std::string verdict;
    };
    const auto c = GENERATE(values<Case>(
        {{40, 10800, "pass"}, {50, 1000, "pass"}, {50.1, 1000, "fail"}, {60, 600, "fail"}}));
    auto about = question();
    CHECK(verdict_of(about, "checkpoint") == "unknown");
    about.cost_s = c.cost_s;
    CHECK(verdict_of(about, "checkpoint") == "unknown");
    about.interval_s = c.interval_s;
    CHECK(verdict_of(about, "checkpoint") == c.verdict);
    CHECK(ask(about, "checkpoint").value == c.cost_s / c.interval_s);
}

TEST_CASE("what a log says of checkpoints is the middle of it", "[gate]") {
    auto facts = run_facts("h100", 64, 2);
    auto& events = facts.training.front().log.runs.front().events;
    using training::EventKind;
    events = {{EventKind::checkpoint_save, 100, 30, 50},
              {EventKind::validation, 150, 500, 60},
              {EventKind::checkpoint_save, 200, 50, 70},
              {EventKind::checkpoint_save, 300, 40, 90}};
    auto about = question();
    about.facts = &facts;
    const auto check = ask(about, "checkpoint");  // 40 s each 100 steps of 2 s
    CHECK(check.value == 0.2);
    CHECK(check.from == "median of 3 writes, train.log:50");
}

TEST_CASE("a declared interval comes before that of a log, and the log's cost before the policy's",
          "[gate]") {
    auto facts = run_facts("h100", 64, 2);
    using training::EventKind;
    facts.training.front().log.runs.front().events = {{EventKind::checkpoint_save, 100, 30, 50},
                                                      {EventKind::checkpoint_save, 200, 30, 70}};
    auto about = question();
    about.facts = &facts;
    about.site.cost_s = 7;
    about.checkpoints.emplace_back();
    about.checkpoints.back().job = 12;
    about.checkpoints.back().interval_s = 3000;
    const auto check = ask(about, "checkpoint");
    CHECK(check.value == 0.01);
    REQUIRE_FALSE(check.details.empty());
    CHECK(check.details.front() == "Interval: declared by job 12, its record.");
}

TEST_CASE("the worst rank waits for samples in at most a twentieth of a step", "[gate]") {
    struct Case {
        double loader_us;
        std::string verdict;
    };
    const auto c = GENERATE(values<Case>({{0, "pass"}, {5000, "pass"}, {5010, "fail"}}));
    diagnose::Facts facts;
    auto about = question();
    about.facts = &facts;
    CHECK(verdict_of(about, "loader") == "unknown");
    facts.machine.traces.resize(2);
    for (auto& trace : facts.machine.traces) {
        trace.steps = 10;
        trace.step_us = 10000;
    }
    facts.machine.traces[1].loader_us = c.loader_us;
    CHECK(verdict_of(about, "loader") == c.verdict);
}

// -- Targets -------------------------------------------------------------------------------------

TEST_CASE("every target of a site is taken", "[gate][policy]") {
    const auto targets = targets_in(R"([gate]
mfu = 0.4
all_reduce = 0.8
interval = 3
recovery = "5m"
completion = 0.99
idle = 60
utilization = 0.9
checkpoint = 0.02
loader = 0.01
)");
    const std::vector<std::pair<const std::optional<policy::GateTarget>*, double>> all{
        {&targets.mfu, 0.4},           {&targets.all_reduce, 0.8},
        {&targets.interval, 3},        {&targets.recovery_s, 300},
        {&targets.completion, 0.99},   {&targets.idle_s, 60},
        {&targets.utilization, 0.9},   {&targets.checkpoint_share, 0.02},
        {&targets.loader_share, 0.01},
    };
    unsigned line = 2;
    for (const auto& [target, value] : all) {
        CAPTURE(line);
        REQUIRE(target->has_value());
        CHECK((*target)->value == value);
        CHECK((*target)->where.line == line++);
    }
    CHECK_FALSE(targets_in("").mfu);
}

TEST_CASE("a site's target decides", "[gate]") {
    const auto records =
        records_of({attempt("1", "n1", 1, 8, 0, 1000), attempt("2", "n1", 1, 8, 1100, 3000)});
    auto about = question();
    about.records = &records;
    CHECK(verdict_of(about, "idle") == "pass");
    about.targets = targets_in("[gate]\nidle = \"90s\"\n");
    const auto check = ask(about, "idle");
    CHECK(check.verdict == GateVerdict::fail);
    CHECK(check.aim.text == "at most 90 s");
    CHECK(check.aim.from == "[gate], railhead.toml:2");
}

TEST_CASE("targets that mean nothing are refused", "[gate][policy]") {
    CHECK(errors_in("[gate]\nmfu = 45\n") == "railhead.toml:2:7: 45 is not within 0.0001 to 1\n");
    CHECK(errors_in("[gate]\nidle = \"soon\"\n") ==
          "railhead.toml:2:8: expected a time such as 300, \"90s\", \"10m\", \"2h\" or \"1d\"\n");
    CHECK(errors_in("[gate]\nutilisation = 0.9\n") ==
          "railhead.toml:2:1: unknown key \"utilisation\", did you mean \"utilization\"?\n");
    CHECK(errors_in("[gate.mfu]\nh100 = \"45 %\"\n") ==
          "railhead.toml:2:8: expected a number, not text\n");
}

// -- The report and the command ------------------------------------------------------------------

TEST_CASE("no line is wider than a terminal, and each check is in the JSON", "[gate][report]") {
    auto facts = run_facts("h100", 64, 1);
    set_mfu(facts, 0.384, training::Precision::bf16);
    auto records =
        records_of({attempt("1", "n1", 1, 8, 0, 1000), attempt("2", "n1", 1, 8, 1400, 3000)});
    records.nodes = {node("n1", 8)};
    auto about = question();
    about.facts = &facts;
    about.records = &records;
    const auto gate = diagnose::pass_gate(about);
    const auto text = report::gate_text({{}, start, start + 3000}, gate);
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
        CAPTURE(text.substr(begin, end - begin));
        CHECK(end - begin <= 80);
        begin = end + 1;
    }
    const auto json = nlohmann::json::parse(report::gate_json({{"12"}, {}, {}}, gate));
    CHECK(json["schema"] == "railhead.gate/1");
    CHECK(json["checks"].size() == gate.checks.size());
    CHECK(json["failed"] == gate.count(GateVerdict::fail));
    CHECK(json["checks"][0]["measured"]["value"] == 0.384);
    CHECK(json["checks"][0]["target"]["bound"] == "least");
}

namespace {

const std::string jobs_text =
    "JobID|JobIDRaw|State|NodeList|AllocNodes|AllocTRES|Submit|Start|End\n"
    "1|1|COMPLETED|n[1-2]|2|cpu=4,gres/gpu=16|1000000|1000000|1003600\n"
    "2|2|COMPLETED|n[1-2]|2|cpu=4,gres/gpu=16|1000000|1003900|1007200\n";
const std::string nodes_text =
    "NodeName=n1 Arch=x86_64 CoresPerSocket=32\n   Gres=gpu:h100:8(S:0-1)\n   State=IDLE "
    "ThreadsPerCore=1\n\n"
    "NodeName=n2 Arch=x86_64 CoresPerSocket=32\n   Gres=gpu:h100:8\n   State=IDLE "
    "ThreadsPerCore=1\n\n";

}  // namespace

TEST_CASE("the command takes files of any kind, and fails when a check does", "[gate][cli]") {
    const TempDir folder;
    const railhead::test::ScopedVariable conf{"SLURM_CONF", folder.path("slurm.conf")};
    const auto jobs = folder.write("jobs.txt", jobs_text);
    const auto nodes = folder.write("nodes.txt", nodes_text);
    const auto settings =
        folder.write("config.txt", config("cpu,gres/gpu", "sched/backfill", "OFF"));

    const auto well = run({"gate", "--offline", "--json", jobs, nodes, settings});
    CAPTURE(well.out, well.err);
    CHECK(well.status == 0);
    const auto json = nlohmann::json::parse(well.out);
    const auto value = [&json](std::string_view id) -> nlohmann::json {
        for (const auto& check : json["checks"]) {
            if (check["id"] == id) {
                return check["measured"]["value"];
            }
        }
        return nullptr;
    };
    CHECK(value("idle") == 300);
    CHECK_THAT(value("utilization").get<double>(), WithinAbs(6900.0 / 7200, 1e-9));
    CHECK(value("completion") == 1);

    CHECK(run({"gate", "--offline", "--strict", jobs, nodes, settings}).status == 1);
    const auto policy = folder.write("strict.toml", "[gate]\nidle = 299\n");
    CHECK(run({"gate", "--offline", "--policy", policy, jobs, nodes, settings}).status == 1);
    CHECK(run({"gate", "--offline", "--policy", folder.path("none.toml"), jobs}).status == 2);
    const auto misspelt = folder.write("misspelt.toml", "[gate.mfu]\nh1000 = 0.4\n");
    const auto refused = run({"gate", "--offline", "--policy", misspelt, jobs});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("misspelt.toml:2: [gate] mfu"));
    CHECK(run({"gate", "--offline", folder.path("absent.log")}).status == 2);
    CHECK(run({"gate", "--offline", "--interval", "-5m"}).status == 2);
}

// Checked by hand: idle (8 x 120 + 7 x 720 + 120 + 4 x 60) s / 20; GPU seconds 64 x 21600 + 64 x
// 21480 - 80 + 64 x 42480 + 16 x 340 of 64 x 86800 - 8 x 610; MFU 256 x 8192 / 40 s x 4.814e11
// FLOPs of 64 x 989.4e12; gradients 70.55e9 / 8 x 6 B x 7/8 at 378.33 x 7/63 GB/s; Daly's optimum
// for 52 s and one failure in 7.938 node-days on 8 nodes.
TEST_CASE("a gate reads as people and programs are to see it", "[gate][cli][golden]") {
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(railhead::test::data_file("gate"));
    std::vector<std::string> words{"gate",      "--offline",      "--policy",      "railhead.toml",
                                   "jobs.txt",  "events.txt",     "nodes.txt",     "config.txt",
                                   "train.log", "nccl-tests.txt", "--accelerator", "h100",
                                   "--model",   "llama-3-70b",    "--nodes",       "8"};
    const auto text = run(words);
    words.emplace_back("--json");
    const auto json = run(words);
    std::filesystem::current_path(here);

    CHECK(text.err.empty());
    CHECK(text.status == 1);
    CHECK(text.out == railhead::test::golden("golden/cli/gate.txt", text.out));
    CHECK(json.out == railhead::test::golden("golden/cli/gate.json", json.out));
}

TEST_CASE("with nothing to look at all is unknown, and the command says what tells it",
          "[gate][cli]") {
    const TempDir folder;
    const railhead::test::ScopedVariable conf{"SLURM_CONF", folder.path("slurm.conf")};
    const auto empty = run({"gate", "--offline"});
    CHECK(empty.status == 0);
    CHECK_THAT(empty.out, ContainsSubstring("0 of 11 checks passed, 11 unknown"));
    CHECK(run({"gate", "--offline", "--strict"}).status == 1);
}
