#include "health.hpp"

#include <chrono>

#include "rails/health_check.hpp"

namespace railhead::spank {

namespace {

using rails::Health;

/// A node that answers takes less than a millisecond, most of it the fork.
constexpr std::chrono::milliseconds limit{1000};

/// What the site wants here: the type of node counts before plugstack.conf.
Health wanted(const Step& step) {
    return step.type ? step.type->health.value_or(step.arguments.health) : step.arguments.health;
}

}  // namespace

void look_at_health(Step& step) {
    step.unhealthy.clear();
    const bool is_read = !step.node.source.empty();  // else that is the trouble, and told as such
    if (wanted(step) == Health::off || !step.choice.rail || !is_read) {
        return;
    }
    const auto findings = rails::check_health(
        step.node, step.plan,
        {.root = step.arguments.root, .declared = !step.declared_by.empty(), .limit = limit});
    step.unhealthy = findings ? rails::health_line(*findings) : to_string(findings.error());
}

bool pass_health(const Session& session, const Step& step) {
    const auto health = wanted(step);
    if (step.unhealthy.empty() || health < Health::warn) {
        return true;
    }
    const bool strict = health == Health::strict;
    if (session.number(S_TASK_ID).value_or(0) == 0) {
        slurm_error("railhead: %s: %s%s",
                    step.node_name.empty() ? "this node" : step.node_name.c_str(),
                    step.unhealthy.c_str(), strict ? ": the step may not start here" : "");
    }
    return !strict;
}

}  // namespace railhead::spank
