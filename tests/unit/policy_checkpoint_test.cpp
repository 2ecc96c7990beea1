// [checkpoint] of railhead.toml: what is read, and what is said of each mistake.
#include <csignal>
#include <string>
#include <vector>

#include "policy/parse.hpp"
#include "policy/policy.hpp"
#include "support/catch.hpp"

namespace {

using namespace railhead;
using namespace railhead::policy;

std::string errors_of(const std::string& toml) {
    const auto policy = parse_policy(toml, "railhead.toml");
    std::string text;
    if (!policy) {
        for (const auto& error : policy.error()) {
            text += (text.empty() ? "" : "\n") + to_string(error);
        }
    }
    return text;
}

CheckpointSettings settings_in(const std::string& toml, const JobKind& job = {}) {
    const auto policy = parse_policy(toml, "railhead.toml");
    if (!policy) {
        FAIL(to_string(policy.error().front()));
    }
    return settings_of(*policy, job).checkpoint;
}

}  // namespace

TEST_CASE("an empty policy observes checkpoints, and asks nobody to declare", "[policy][checkpoint]") {
    const auto settings = settings_in("");

    CHECK(settings.mode == Mode::observe);
    CHECK(settings.min_nodes == 2);
    CHECK_FALSE(settings.per_1000_node_days);
    CHECK_FALSE(settings.cost_s);
    CHECK(settings.undeclared == Undeclared::ignore);
    CHECK(settings.long_interval == LongInterval::advise);
    CHECK(settings.declares == nullptr);
    CHECK_FALSE(settings.signal);
    CHECK_FALSE(settings.clock);
    CHECK(settings.attempts == 3);
}

TEST_CASE("every key of [checkpoint] is read", "[policy][checkpoint]") {
    const auto settings = settings_in(R"(
[checkpoint]
mode = "enforce"
min_nodes = 4
failures = 7.5
cost = "2m"
step = 20
restart = "10m"
undeclared = "cap"
declare_above = 16
undeclared_time = "4h"
long_interval = "refuse"
most_interval = 2.5
declares = ["LLM_RESUME", "MEGATRON_LOAD"]
signal = "usr2"
signal_to = "rank0"
requeue = false
append = false
clock = true
attempts = 0
)");

    CHECK(settings.mode == Mode::enforce);
    CHECK(settings.min_nodes == 4);
    CHECK(settings.per_1000_node_days == 7.5);
    CHECK(settings.cost_s == 120U);
    CHECK(settings.step_s == 20U);
    CHECK(settings.restart_s == 600U);
    CHECK(settings.undeclared == Undeclared::cap);
    CHECK(settings.declare_above == 16);
    CHECK(settings.undeclared_time_s == 4 * 3600);
    CHECK(settings.long_interval == LongInterval::refuse);
    CHECK(settings.most_interval == 2.5);
    REQUIRE(settings.declares);
    CHECK(*settings.declares == std::vector<std::string>{"LLM_RESUME", "MEGATRON_LOAD"});
    CHECK(settings.signal == SIGUSR2);
    CHECK(settings.signal_to == checkpoint::Target::rank0);
    CHECK_FALSE(settings.requeue);
    CHECK_FALSE(settings.append);
    CHECK(settings.clock);
    CHECK(settings.attempts == 0);
}

TEST_CASE("a failure rate goes by its published name too", "[policy][checkpoint]") {
    CHECK(settings_in("checkpoint.failures = \"rsc-2\"\n").per_1000_node_days == 2.34);
    CHECK(settings_in("checkpoint.failures = 3\n").per_1000_node_days == 3);
}

TEST_CASE("a layer takes back what the one below set", "[policy][checkpoint]") {
    const std::string toml = R"(
mode = "advise"
[checkpoint]
signal = "USR1"
declares = "RESUME"
clock = true
cost = "1m"
[partition.debug]
mode = "observe"
checkpoint = { signal = "none", declares = [], clock = false }
[[rule]]
name = "large models write longer"
match = { account = "llm*", min_gpus = 256 }
checkpoint = { mode = "enforce", cost = "5m" }
)";

    const auto top = settings_in(toml, {.partition = "main", .account = "a", .qos = {}, .gpus = 8});
    CHECK(top.mode == Mode::advise);
    CHECK(top.signal == SIGUSR1);
    REQUIRE(top.declares);
    CHECK(*top.declares == std::vector<std::string>{"RESUME"});
    CHECK(top.cost_s == 60U);

    const auto debug = settings_in(toml, {.partition = "debug", .account = {}, .qos = {}, .gpus = 8});
    CHECK(debug.mode == Mode::observe);
    CHECK_FALSE(debug.signal);
    REQUIRE(debug.declares);
    CHECK(debug.declares->empty());
    CHECK_FALSE(debug.clock);

    const auto ruled =
        settings_in(toml, {.partition = "main", .account = "llm-1", .qos = {}, .gpus = 256});
    CHECK(ruled.mode == Mode::enforce);
    CHECK(ruled.cost_s == 300U);
    CHECK(ruled.clock);
}

TEST_CASE("each mistake in [checkpoint] is named with its line and column",
          "[policy][checkpoint][errors]") {
    struct Case {
        std::string why, toml, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"misspelt key", "[checkpoint]\nfailure = 3\n",
         "railhead.toml:2:1: unknown key \"failure\", did you mean \"failures\"?"},
        {"a word for another", "[checkpoint]\nundeclared = \"forbid\"\n",
         "railhead.toml:2:14: expected one of \"ignore\", \"advise\", \"refuse\", \"cap\", not "
         "\"forbid\""},
        {"a misspelt rate", "[checkpoint]\nfailures = \"rsc1\"\n",
         "railhead.toml:2:12: no rate is named \"rsc1\", did you mean \"rsc-1\"?"},
        {"a rate that nobody published", "[checkpoint]\nfailures = \"ours\"\n",
         "railhead.toml:2:12: no rate is named \"ours\": expected failures per 1000 node-days, or "
         "one of \"rsc-1\", \"rsc-2\", \"rsc-1-all\", \"llama-3\", \"imbue\", \"crusoe\", \"bloom\""},
        {"a rate of nothing", "checkpoint.failures = 0\n",
         "railhead.toml:1:23: 0 is not within 0.001 to 1000000"},
        {"a checkpoint that costs nothing", "checkpoint.cost = 0\n",
         "railhead.toml:1:19: expected a time from 1 s to 365 d"},
        {"a restart without end", "checkpoint.restart = \"400d\"\n",
         "railhead.toml:1:22: expected a time from 1 s to 365 d"},
        {"a signal that cannot be caught", "checkpoint.signal = \"KILL\"\n",
         "railhead.toml:1:21: \"KILL\" is no signal that a program can save at: say USR1, USR2, "
         "TERM, ..., or none"},
        {"a number for a signal", "checkpoint.signal = 10\n",
         "railhead.toml:1:21: expected text in quotes, not a whole number"},
        {"a signal with its target", "checkpoint.signal = \"USR1@batch\"\n",
         "railhead.toml:1:21: \"USR1@batch\" names a target: that is signal_to = \"batch\""},
        {"a target that there is not", "checkpoint.signal_to = \"rank1\"\n",
         "railhead.toml:1:24: expected one of \"auto\", \"batch\", \"tasks\", \"rank0\", not "
         "\"rank1\""},
        {"a variable that is none", "checkpoint.declares = [\"RESUME\", \"A=B\"]\n",
         "railhead.toml:1:34: \"A=B\" is no variable: a name is made of letters, digits and \"_\""},
        {"a variable that every job has", "checkpoint.declares = \"SLURM_JOB_ID\"\n",
         "railhead.toml:1:23: \"SLURM_JOB_ID\" cannot stand here: jobs have it without being asked"},
        {"a ratio below one", "checkpoint.most_interval = 0.5\n",
         "railhead.toml:1:28: 0.5 is not within 1 to 1000"},
        {"refusal of whom", "[checkpoint]\nundeclared = \"refuse\"\n",
         "railhead.toml:2:14: \"refuse\" needs \"declare_above\", here or at the top of the file: "
         "the nodes above which jobs are to declare"},
        {"a cap without a time", "[checkpoint]\ndeclare_above = 8\nundeclared = \"cap\"\n",
         "railhead.toml:3:14: \"cap\" needs \"undeclared_time\", here or at the top of the file: "
         "how long the others may run"},
        {"a cap below what Slurm counts", "[checkpoint]\nundeclared_time = \"59s\"\n",
         "railhead.toml:2:19: a time limit is a minute at least: expected a time such as \"1h\""},
        {"text for a flag", "checkpoint.clock = \"yes\"\n",
         "railhead.toml:1:20: expected true or false, not text"},
    }));
    CAPTURE(c.why);

    CHECK(errors_of(c.toml) == c.expected);
}

TEST_CASE("what undeclared needs may stand at the top of the file", "[policy][checkpoint]") {
    const auto settings = settings_in(
        "checkpoint = { declare_above = 8, undeclared_time = \"1h\" }\n"
        "[partition.main.checkpoint]\nundeclared = \"cap\"\n",
        {.partition = "main", .account = {}, .qos = {}, .gpus = 0});

    CHECK(settings.undeclared == Undeclared::cap);
    CHECK(settings.declare_above == 8);
    CHECK(settings.undeclared_time_s == 3600);
}
