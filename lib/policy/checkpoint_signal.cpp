#include "policy/checkpoint_signal.hpp"

#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/schedule.hpp"
#include "job/batch_script.hpp"

namespace railhead::policy {

namespace {

using checkpoint::Target;

/// Why a signal to tasks would also hit processes that they start; empty where it would not.
std::string hits_children(const fabric::Cluster& cluster) {
    constexpr std::string_view kind = "proctrack/";
    std::string_view tracking = cluster.proctrack;
    if (tracking.starts_with(kind)) {
        tracking.remove_prefix(kind.size());
    }
    if (!tracking.empty() && !equals_ignoring_case(tracking, "cgroup")) {
        return fmt::format("ProctrackType={}", cluster.proctrack);
    }
    return cluster.signals_children ? "SignalChildrenProcesses=yes" : "";
}

/// Where the script has the program that saves; `unsaid`: nowhere that can be told.
Target target_in(const job::BatchScript& script) {
    if (script.starts_steps) {
        return script.steps_catch() ? Target::tasks : Target::unsaid;
    }
    return script.catches() ? Target::batch : Target::unsaid;
}

/// Why nobody is signalled who is known to catch it.
std::string nobody(const job::BatchScript& script, std::string_view signal) {
    if (!script.launcher.empty()) {
        return fmt::format("{} in the script does not hand {} on, and would die of it",
                           printable(script.launcher), signal);
    }
    if (script.starts_steps) {
        return fmt::format("srun in the script starts the tasks: the script has no use for {}",
                           signal);
    }
    return fmt::format(
        "the script neither starts its program by srun or exec nor has a trap for {}", signal);
}

/// Whom to signal, or why nobody.
struct Choice {
    Target target = Target::unsaid;
    std::string reason;
};

Choice choose_target(const Work& work, const SignalAsk& ask) {
    auto target = ask.wish.target;
    if (!ask.target_is_users && work.request.heterogeneous) {
        return {Target::unsaid, "this job is heterogeneous, and only its first part has a script"};
    }
    if (target == Target::batch && work.request.component) {
        return {Target::unsaid, "the batch script is the first component's"};
    }
    if (!ask.target_is_users && target != Target::rank0) {
        const auto name = checkpoint::signal_name(ask.wish.number);
        const auto script = job::look_at_script(work.request.script, name);
        const auto fits = target_in(script);
        if (fits == Target::unsaid || (target != Target::unsaid && target != fits)) {
            return {Target::unsaid, nobody(script, name)};
        }
        target = fits;
    }
    if (target == Target::rank0) {
        return {Target::unsaid, "Slurm cannot signal one rank alone, the site's clock can"};
    }
    if (target == Target::tasks) {
        if (const auto why = hits_children(work.site.cluster); !why.empty()) {
            return {Target::unsaid,
                    fmt::format("{} would have it hit every child of the tasks too", why)};
        }
    }
    return {target, {}};
}

}  // namespace

SignalPlan plan_signal(const Work& work, const SignalAsk& ask) {
    const auto lead_s = static_cast<std::uint64_t>(std::ceil(ask.lead_s));
    if (ask.limit_s &&
        *ask.limit_s <= lead_s + static_cast<std::uint64_t>(checkpoint::slurm_early_s)) {
        return {std::nullopt, fmt::format("the last checkpoint needs {}, and the time limit is {}",
                                          duration_text(lead_s), duration_text(*ask.limit_s))};
    }
    auto choice = choose_target(work, ask);
    if (choice.target == Target::unsaid) {
        return {std::nullopt, std::move(choice.reason)};
    }
    return {Warning{static_cast<std::uint16_t>(ask.wish.number), static_cast<std::uint16_t>(lead_s),
                    choice.target == Target::batch},
            {}};
}

}  // namespace railhead::policy
