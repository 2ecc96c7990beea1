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

Choice unknown(std::string reason) {
    return {Target::unsaid, std::move(reason) + "; with --ckpt-signal the nodes' clock signals it"};
}

Choice choose_target(const Work& work, const SignalAsk& ask) {
    if (work.request.heterogeneous) {
        return unknown("this job is heterogeneous, and only its first component has a script");
    }
    if (ask.target == Target::rank0) {
        return {Target::unsaid, "Slurm cannot signal one rank alone, the site's clock can"};
    }
    const auto name = checkpoint::signal_name(ask.number);
    const auto script = job::look_at_script(work.request.script, name);
    const auto target = target_in(script);
    if (target == Target::unsaid || (ask.target != Target::unsaid && ask.target != target)) {
        return unknown(nobody(script, name));
    }
    if (target == Target::tasks) {
        if (const auto why = hits_children(work.site.cluster); !why.empty()) {
            return unknown(fmt::format("{} would have it hit every child of the tasks too", why));
        }
    }
    return {target, {}};
}

}  // namespace

std::string too_short(const SignalAsk& ask, double early_s) {
    const auto lead_s = static_cast<std::uint64_t>(std::ceil(ask.lead_s));
    if (!ask.limit_s || *ask.limit_s > lead_s + static_cast<std::uint64_t>(early_s)) {
        return {};
    }
    return fmt::format("the last checkpoint needs {}, and the time limit is {}",
                       duration_text(lead_s), duration_text(*ask.limit_s));
}

SignalPlan plan_signal(const Work& work, const SignalAsk& ask) {
    if (auto reason = too_short(ask, checkpoint::slurm_early_s); !reason.empty()) {
        return {std::nullopt, std::move(reason)};
    }
    auto choice = choose_target(work, ask);
    if (choice.target == Target::unsaid) {
        return {std::nullopt, std::move(choice.reason)};
    }
    return {
        Warning{static_cast<std::uint16_t>(ask.number),
                static_cast<std::uint16_t>(std::ceil(ask.lead_s)), choice.target == Target::batch},
        {}};
}

}  // namespace railhead::policy
