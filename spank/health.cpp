#include "health.hpp"

#include <chrono>

#include "rails/health_check.hpp"

namespace railhead::spank {

namespace {

using rails::Health;

/// A node that answers takes less than a millisecond.
constexpr std::chrono::milliseconds limit{1000};

}  // namespace

void look_at_health(Step& step) {
    const bool is_read = !step.node.source.empty();  // else that is the trouble, and told as such
    if (step.arguments.health == Health::off || !step.choice.rail || !is_read) {
        return;
    }
    const auto findings = rails::check_health(
        step.node, step.plan,
        {.root = step.arguments.root, .declared = !step.arguments.nics.empty(), .limit = limit});
    step.unhealthy = findings ? rails::health_line(*findings) : to_string(findings.error());
    if (!step.unhealthy.empty()) {
        slurm_info("railhead: %s", step.unhealthy.c_str());
    }
}

bool pass_health(const Session& session, const Step& step) {
    const auto health = step.arguments.health;
    if (step.unhealthy.empty() || health < Health::warn) {
        return true;
    }
    const bool strict = health == Health::strict;
    if (session.number(S_TASK_ID).value_or(0) == 0) {
        slurm_error("railhead: %s: %s%s",
                    session.variable("SLURMD_NODENAME").value_or("this node").c_str(),
                    step.unhealthy.c_str(), strict ? ": the step may not start here" : "");
    }
    return !strict;
}

}  // namespace railhead::spank
