// `railhead check` on preemption: a job that is preempted needs time, and its own signal.
#include <string>

#include "policy/check.hpp"
#include "support/catch.hpp"
#include "support/clusters.hpp"

namespace {

using namespace railhead;

std::string findings(const std::string& type, const std::string& mode, const std::string& of_partition,
                     std::uint32_t grace_s, const std::string& parameters,
                     const std::string& toml = "") {
    auto site = test::make_site(toml);
    site.cluster.preempt_type = type;
    site.cluster.preempt_mode = mode;
    site.cluster.slurmctld_parameters = parameters;
    site.partitions.front().limits.preempt_mode = of_partition;
    site.partitions.front().limits.grace_time_s = grace_s;
    std::string text;
    for (const auto& finding : policy::check_preemption(site)) {
        text += (finding.level == policy::Level::warning ? "warning: " : "advice: ") + finding.text + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a preempted job needs a grace time and its own signal: check says when either is missing",
          "[check][checkpoint]") {
    const std::string both = "enable_configless,preempt_send_user_signal";
    const auto grace =
        "warning: partition \"main\" has GraceTime=0: a preempted job needs 1 min for a step and a "
        "checkpoint: GraceTime=60\n";
    const auto signal =
        "warning: SlurmctldParameters has no preempt_send_user_signal (later: "
        "PreemptParameters=send_user_signal): a preempted job gets SIGTERM, "
        "not the --signal at which it saves\n";

    CHECK(findings("preempt/partition_prio", "REQUEUE", "", 0, "") == std::string{grace} + signal);
    CHECK(findings("preempt/partition_prio", "REQUEUE", "", 0, both) == grace);
    CHECK(findings("preempt/partition_prio", "CANCEL", "", 60, "") == signal);
    CHECK(findings("preempt/partition_prio", "GANG,REQUEUE", "", 60, both).empty());
}

TEST_CASE("later releases have another name for the own signal at preemption", "[check][checkpoint]") {
    auto site = test::make_site("");
    site.cluster.preempt_type = "preempt/partition_prio";
    site.cluster.preempt_mode = "REQUEUE";
    site.cluster.preempt_parameters = "youngest_first,send_user_signal";
    site.partitions.front().limits.grace_time_s = 60;
    CHECK(policy::check_preemption(site).empty());
}

TEST_CASE("the grace time needed is the site's cost and step", "[check][checkpoint]") {
    CHECK_THAT(findings("partition_prio", "REQUEUE", "", 60, "preempt_send_user_signal",
                        "checkpoint = { cost = \"5m\", step = 20 }\n"),
               ContainsSubstring("a preempted job needs 5 min 20 s"));
}

TEST_CASE("who is not ended needs no time", "[check][checkpoint]") {
    CHECK(findings("", "", "", 0, "").empty());
    CHECK(findings("preempt/none", "OFF", "", 0, "").empty());
    CHECK(findings("preempt/partition_prio", "GANG,SUSPEND", "", 0, "").empty());
    CHECK(findings("preempt/partition_prio", "REQUEUE", "OFF", 0, "").empty());
    CHECK_FALSE(findings("preempt/partition_prio", "OFF", "CANCEL", 0, "").empty());
}

TEST_CASE("where QOS preempt, their grace time is in the database", "[check][checkpoint]") {
    CHECK_THAT(findings("preempt/qos", "REQUEUE", "", 0, "preempt_send_user_signal"),
               ContainsSubstring("advice: jobs are preempted by QOS"));
}
