#include "checkpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "checkpoint/variables.hpp"
#include "job_end.hpp"

namespace railhead::spank {

namespace {

namespace variable = checkpoint::variable;
using checkpoint::SignalWish;
using checkpoint::Target;
using Settings = std::optional<policy::CheckpointSettings>;

std::string text_of(const Session& session, const char* name) {
    return session.variable(name).value_or("");
}

/// Also of the copy that sbatch sent along, where the job's environment lacks it (--export=NONE).
std::optional<double> seconds_of(const Session& session, const char* name) {
    const auto value = session.variable(name);
    return checkpoint::parse_seconds(
        value ? *value : text_of(session, (std::string{"SLURM_SPANK_"} + name).c_str()));
}

std::optional<std::uint32_t> count_of(const Session& session, const char* name) {
    return parse_number<std::uint32_t>(text_of(session, name));
}

/// Failures per 1000 node-days, as we wrote them.
std::optional<double> told_rate(const Session& session) {
    const auto text = text_of(session, variable::rate);
    double rate = 0;
    const auto* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, rate);
    return error == std::errc{} && last == end ? std::optional{rate} : std::nullopt;
}

/// The nodes that fail together: those of the step; of a batch or interactive step, the job's.
std::uint32_t nodes_of(const Session& session) {
    if (session.kind() != StepKind::step) {
        if (const auto nodes = count_of(session, "SLURM_JOB_NUM_NODES")) {
            return *nodes;
        }
    }
    return std::max(session.number(S_JOB_NNODES).value_or(1), 1U);
}

/// What the site says of this job, as far as a node can tell what job it is.
Settings settings_of(const Session& session, SitePolicy& policy) {
    const auto* site = policy.get();
    if (site == nullptr) {
        return std::nullopt;
    }
    const auto partition = text_of(session, "SLURM_JOB_PARTITION");
    const auto account = text_of(session, "SLURM_JOB_ACCOUNT");
    const auto qos = text_of(session, "SLURM_JOB_QOS");
    const auto settings =
        policy::settings_of(*site, {.partition = partition, .account = account, .qos = qos});
    return settings.enabled ? std::optional{settings.checkpoint} : std::nullopt;
}

/// Whether the job says that it checkpoints and resumes, but for a signal of its own.
bool declares(const Session& session, const Choice& choice, const Settings& settings) {
    const auto says_yes = [&](const std::string& name) {
        const auto value = text_of(session, name.c_str());
        return !value.empty() && value != "0";
    };
    return choice.ckpt_interval ||
           (settings && settings->declares && std::ranges::any_of(*settings->declares, says_yes));
}

/// Whether the site tells jobs like this one, though they do not ask.  A variable that it lists
/// says that they can resume, not that they want to be told: that is the size's business, as at
/// submission.
bool tells(const Settings& settings, std::uint32_t nodes) {
    return settings && settings->mode == policy::Mode::enforce && nodes >= settings->min_nodes;
}

/// Whose signal there is to be: the job's word; the site's, for jobs that declare.
std::optional<SignalWish> signal_of(const Session& session, const Choice& choice,
                                    const Settings& settings) {
    if (choice.ckpt_signal) {
        auto wish = checkpoint::parse_signal_wish(*choice.ckpt_signal);
        if (!wish) {
            return std::nullopt;  // choose() has refused it
        }
        if (wish->target == Target::unsaid && settings) {
            wish->target = settings->signal_to;
        }
        return wish->number != 0 ? std::optional{*wish} : std::nullopt;
    }
    const bool by_policy = settings && settings->mode == policy::Mode::enforce && settings->clock &&
                           settings->signal && declares(session, choice, settings);
    return by_policy ? std::optional{SignalWish{*settings->signal, settings->signal_to}}
                     : std::nullopt;
}

void change(const Session& session, const std::vector<checkpoint::Setting>& settings) {
    for (const auto& [name, value] : settings) {
        if (value) {
            session.set(name, *value);
        } else if (session.variable(name)) {
            session.unset(name);
        }
    }
}

/// Takes away what a step around this one was told.
void clear(const Session& session) {
    if (tells_interval([&](std::string_view name) { return session.variable(name); })) {
        session.unset(variable::interval);
    }
    change(session, checkpoint::no_launch_variables());
}

checkpoint::Known known_to(const policy::CheckpointSettings& settings) {
    const auto seconds = [](const std::optional<std::uint32_t>& value) {
        return value ? std::optional<double>{*value} : std::nullopt;
    };
    return {.per_1000_node_days = settings.per_1000_node_days,
            .cost_s = seconds(settings.cost_s),
            .step_s = seconds(settings.step_s),
            .restart_s = seconds(settings.restart_s)};
}

checkpoint::LaunchFacts gather(const Session& session, const Choice& choice,
                               const Settings& settings) {
    checkpoint::LaunchFacts facts;
    facts.nodes = nodes_of(session);
    if (choice.ckpt_interval) {
        if (const auto wish = checkpoint::parse_interval_wish(*choice.ckpt_interval)) {
            facts.own_interval_s = wish->seconds;
        }
    }
    facts.job = {.per_1000_node_days = told_rate(session),
                 .cost_s = seconds_of(session, variable::cost),
                 .step_s = seconds_of(session, variable::step),
                 .restart_s = std::nullopt};
    if (settings) {
        facts.policy = known_to(*settings);
    }
    const auto source = text_of(session, variable::source);
    facts.cost_is_measured = source == checkpoint::from::history;
    facts.told_by_policy = source == checkpoint::from::policy;
    return facts;
}

/// A folder by the job's working directory, which is this process's.
std::string absolute(const std::string& folder) {
    std::error_code error;
    return std::filesystem::absolute(folder, error).string();
}

}  // namespace

std::optional<CheckpointStep> plan_checkpoints(const Session& session,
                                               const rails::PluginArguments& arguments,
                                               SitePolicy& policy, bool has_gpus) {
    const auto choice = choice_of(arguments, session);
    if (!choice || !choice->railhead) {
        clear(session);
        return std::nullopt;
    }
    const Lookup lookup = [&](std::string_view name) { return session.variable(name); };
    const bool speaks = speaks_of_checkpoints(*choice, lookup);
    const auto nodes = nodes_of(session);
    if (!speaks && !has_gpus) {
        return std::nullopt;  // nor is the policy read, which the rails of GPUs need anyway
    }
    const auto settings = settings_of(session, policy);
    if (!speaks && !tells(settings, nodes)) {
        return std::nullopt;
    }
    return CheckpointStep{.facts = gather(session, *choice, settings),
                          .launch = {},
                          .is_endless = false,
                          .signal = signal_of(session, *choice, settings),
                          .folder = choice->ckpt_dir ? absolute(*choice->ckpt_dir) : "",
                          .attempts = settings.value_or(policy::CheckpointSettings{}).attempts};
}

Result<void> tell_checkpoints(const Session& session, CheckpointStep& step) {
    const auto end_s = find_job_end(session);
    step.facts.end_s = end_s && *end_s > 0 ? end_s : std::nullopt;
    step.is_endless = end_s && !step.facts.end_s;
    step.facts.now_s = std::time(nullptr);
    step.facts.restarts = count_of(session, "SLURM_RESTART_COUNT").value_or(0);
    auto launch = checkpoint::plan_launch(step.facts);
    if (!launch) {
        clear(session);
        return propagate(launch);
    }
    step.launch = *launch;
    change(session, checkpoint::launch_variables(*launch));
    if (end_s) {
        session.set(variable::job_end, checkpoint::write_job_end(
                                           session.number(S_JOB_ID).value_or(0), step.facts.end_s));
    }
    return {};
}

}  // namespace railhead::spank
