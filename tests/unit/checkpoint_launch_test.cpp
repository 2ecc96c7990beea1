// What a step is told of checkpoints, and the end of the job that it goes by.
#include "checkpoint/launch.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include "checkpoint/job_end.hpp"
#include "checkpoint/variables.hpp"
#include "support/catch.hpp"

using namespace railhead;
using namespace railhead::checkpoint;

namespace {

LaunchFacts facts(std::uint64_t nodes) {
    LaunchFacts facts;
    facts.nodes = nodes;
    facts.job = {.per_1000_node_days = 10, .cost_s = 60, .step_s = 10, .restart_s = std::nullopt};
    return facts;
}

Launch plan(const LaunchFacts& of) {
    const auto launch = plan_launch(of);
    REQUIRE(launch);
    return *launch;
}

}  // namespace

TEST_CASE("the interval follows the nodes that a step has", "[checkpoint][launch]") {
    // 10 failures per 1000 node-days: a node fails every 8,640,000 s.
    CHECK(plan(facts(8)).mtbf_s == 1'080'000);
    CHECK(plan(facts(4)).mtbf_s == 2'160'000);
    CHECK(plan(facts(4)).interval_s > plan(facts(8)).interval_s);
    // Young's sqrt(2 x 60 x 1,080,000) = 11,384 s, of which the exact optimum differs by little.
    CHECK(std::abs(plan(facts(8)).interval_s - 11'384) < 100);
}

TEST_CASE("the deadline lies a lead before the end", "[checkpoint][launch]") {
    auto of = facts(2);
    CHECK(plan(of).lead_s == 60 + 10 + 60);
    CHECK_FALSE(plan(of).deadline_s);
    of.end_s = 1'796'040'000;
    CHECK(plan(of).deadline_s == 1'796'040'000 - 130);
    of.now_s = *of.end_s - 100;  // a limit shorter than the lead
    CHECK(plan(of).deadline_s == 1'796'040'000 - 50);
}

TEST_CASE("each figure comes from who knows it best", "[checkpoint][launch]") {
    struct Case {
        std::string why;
        LaunchFacts facts;
        double rate, cost_s;
        std::string source;
    };
    const Known nothing;
    const Known site{.per_1000_node_days = 20, .cost_s = 40, .step_s = 5, .restart_s = 100};
    const Known job{
        .per_1000_node_days = 10, .cost_s = 60, .step_s = 10, .restart_s = std::nullopt};
    const auto make = [](const Known& of_job, const Known& of_policy) {
        LaunchFacts facts;
        facts.job = of_job;
        facts.policy = of_policy;
        return facts;
    };
    auto measured = make(job, site);
    measured.cost_is_measured = true;
    auto own = measured;
    own.own_interval_s = 1800;
    auto told = make(job, nothing);
    told.told_by_policy = true;
    const auto c = GENERATE_COPY(values<Case>({
        {"nobody knows", make(nothing, nothing), usual().per_1000_node_days, usual().cost_s,
         "default"},
        {"the site", make(nothing, site), 20, 40, "policy"},
        {"the job's cost, the rate of the policy here", make(job, site), 20, 60, "policy"},
        {"no policy here: what the job was told", told, 10, 60, "policy"},
        {"a cost that earlier jobs had", measured, 20, 60, "history"},
        {"the user's interval", own, 20, 60, "user"},
    }));
    CAPTURE(c.why);
    const auto launch = plan(c.facts);
    CHECK(launch.per_1000_node_days == c.rate);
    CHECK(launch.cost_s == c.cost_s);
    CHECK(launch.source == c.source);
}

TEST_CASE("the user's interval is told as it is", "[checkpoint][launch]") {
    auto of = facts(8);
    of.own_interval_s = 1800;
    CHECK(plan(of).interval_s == 1800);
    of.own_interval_s = 1.2;
    CHECK(plan(of).interval_s == 1);
}

TEST_CASE("every variable is told, and a stale one taken away", "[checkpoint][launch]") {
    auto of = facts(8);
    of.restarts = 2;
    const auto settings = launch_variables(plan(of));
    const std::map<std::string, std::optional<std::string>> found{settings.begin(), settings.end()};
    CHECK(found.at(variable::mtbf) == "1080000");
    CHECK(found.at(variable::lead) == "130");
    CHECK(found.at(variable::restarts) == "2");
    CHECK(found.at(variable::rate) == "10");
    CHECK(found.at(variable::source) == "default");
    CHECK(found.at(variable::deadline) == std::nullopt);  // an outer step's would be wrong
    for (const auto& [name, value] : no_launch_variables()) {
        CHECK(value == std::nullopt);
    }
}

TEST_CASE("figures beyond the models are refused", "[checkpoint][launch]") {
    auto of = facts(8);
    of.job.cost_s = 1e300;
    CHECK_FALSE(plan_launch(of));
}

TEST_CASE("the end of another job is not this one's", "[checkpoint][launch]") {
    CHECK(read_job_end(write_job_end(7, 1000), 7) == 1000);
    CHECK(read_job_end(write_job_end(7, std::nullopt), 7) == 0);
    CHECK_FALSE(read_job_end(write_job_end(7, 1000), 8));
    for (const auto* const text : {"", "7", "7:", ":1000", "7:x", "x:1000"}) {
        CAPTURE(text);
        CHECK_FALSE(read_job_end(text, 7));
    }
}

TEST_CASE("the end of a job is read from scontrol", "[checkpoint][job-end]") {
    struct Case {
        std::string why, text;
        EndTime end;
    };
    const auto c = GENERATE(values<Case>({
        {"one job", "JobId=7 JobName=a EndTime=1796040000 Deadline=N/A\n", 1'796'040'000},
        {"no limit", "JobId=7 JobName=a EndTime=Unknown Deadline=N/A\n", std::nullopt},
        {"no limit, as Slurm tells it of a job that runs",
         "JobId=7 TimeLimit=UNLIMITED StartTime=1000 EndTime=31537000\n", std::nullopt},
        {"no limit, but preempted: its grace ends",
         "JobId=7 TimeLimit=UNLIMITED StartTime=1000 EndTime=2000\n", 2000},
        {"a task of an array, whose first has the array's number",
         "JobId=9 ArrayJobId=7 ArrayTaskId=2 EndTime=5\nJobId=7 ArrayJobId=7 ArrayTaskId=1 "
         "EndTime=6\n",
         6},
        {"a name that looks like a key", "JobId=7 JobName=x EndTime=6 Comment=EndTime=5\n", 6},
    }));
    CAPTURE(c.why);
    const auto end = parse_job_end(c.text, 7);
    REQUIRE(end);
    CHECK(*end == c.end);
}

TEST_CASE("a job without an end in scontrol's answer is told", "[checkpoint][job-end][errors]") {
    CHECK(parse_job_end("", 7).error().message == "Slurm does not know job 7");
    CHECK(parse_job_end("JobId=8 EndTime=5\n", 7).error().code == Errc::not_found);
    CHECK(parse_job_end("JobId=7 EndTime=2026-11-30T12:00:00\n", 7).error().message ==
          "job 7 has no EndTime that is a number: \"2026-11-30T12:00:00\"");
    CHECK_FALSE(parse_job_end("JobId=7\n", 7));
}
