#include "checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint/job_end.hpp"
#include "checkpoint/launch.hpp"
#include "checkpoint/variables.hpp"
#include "checkpoint/wish.hpp"
#include "companion.hpp"
#include "node_name.hpp"
#include "policy/load_policy.hpp"

namespace railhead::spank {

namespace {

namespace variable = checkpoint::variable;
using checkpoint::SignalWish;
using checkpoint::Target;

/// slurmctld answers in milliseconds; while it does not, a step starts without knowing its end.
constexpr std::chrono::seconds answer_limit{2};
/// The programs beside the tasks have a last word.
constexpr std::chrono::seconds farewell{1};

/// Of this step; slurmstepd serves one, and only its main thread comes here.
struct Current {
    std::vector<Companion> companions;
    std::uint32_t tasks_left = 0;
};
Current current;

// ---- what is known ------------------------------------------------------------------------

std::string own_program() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::optional<double> seconds_of(const Session& session, const char* name) {
    return checkpoint::parse_seconds(session.variable(name).value_or(""));
}

std::optional<std::uint32_t> count_of(const Session& session, const char* name) {
    return parse_number<std::uint32_t>(session.variable(name).value_or(""));
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

std::string text_of(const Session& session, const char* name) {
    return session.variable(name).value_or("");
}

/// What the site says of this job, as far as a node can tell what job it is.
std::optional<policy::CheckpointSettings> settings_of(const Session& session, SitePolicy& policy) {
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

/// The job speaks of checkpoints, or was told of them at submission.
bool is_concerned(const Session& session, const Choice& choice) {
    constexpr std::array names{variable::source, variable::cost, variable::step};
    return choice.ckpt_interval || choice.ckpt_signal || choice.ckpt_dir ||
           std::ranges::any_of(
               names, [&](const char* name) { return session.variable(name).has_value(); });
}

bool declares(const Session& session, const Choice& choice,
              const policy::CheckpointSettings& settings) {
    return choice.ckpt_interval ||
           (settings.declares &&
            std::ranges::any_of(*settings.declares, [&](const std::string& name) {
                return session.variable(name).has_value();
            }));
}

/// Whose signal there is to be: the job's word; the site's, for jobs that declare.
std::optional<SignalWish> signal_of(const Session& session, const Choice& choice,
                                    const std::optional<policy::CheckpointSettings>& settings) {
    if (choice.ckpt_signal) {
        auto wish = checkpoint::parse_signal_wish(*choice.ckpt_signal);
        if (!wish) {
            return std::nullopt;  // choose() has refused it
        }
        if (wish->target == Target::unsaid && settings) {
            wish->target = settings->signal_to;
        }
        return *wish;
    }
    const bool by_policy = settings && settings->mode == policy::Mode::enforce && settings->clock &&
                           settings->signal && declares(session, choice, *settings);
    return by_policy ? std::optional{SignalWish{*settings->signal, settings->signal_to}}
                     : std::nullopt;
}

// ---- the end of the job -------------------------------------------------------------------

std::optional<std::int64_t> told_end(std::uint32_t job, const std::string& own,
                                     const std::string& slurms) {
    if (const auto end = parse_number<std::int64_t>(slurms)) {
        return end;
    }
    return checkpoint::read_job_end(own, job);
}

/// Since 1970, 0 for never; nothing: unknown.  Asked in the batch step, which is one a job; steps
/// have it from there or from srun.
std::optional<std::int64_t> job_end(const Session& session) {
    const auto job = session.number(S_JOB_ID).value_or(0);
    if (const auto told = told_end(job, text_of(session, variable::job_end),
                                   text_of(session, "SLURM_JOB_END_TIME"))) {
        return told;
    }
    if (session.kind() != StepKind::batch) {
        return std::nullopt;
    }
    const auto end =
        checkpoint::ask_job_end(checkpoint::find_scontrol(own_program()), job, answer_limit);
    if (!end) {
        slurm_info("railhead: when job %u ends is unknown: %s", job,
                   printable(to_string(end.error())).c_str());
        return std::nullopt;
    }
    return end->value_or(0);
}

// ---- variables ----------------------------------------------------------------------------

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
    const bool told = tells_interval([&](std::string_view name) { return session.variable(name); });
    if (told) {
        session.unset(variable::interval);
    }
    change(session, checkpoint::no_launch_variables());
}

checkpoint::LaunchFacts facts_of(const Session& session, const Choice& choice,
                                 const std::optional<policy::CheckpointSettings>& settings,
                                 std::optional<std::int64_t> end_s) {
    checkpoint::LaunchFacts facts;
    facts.nodes = nodes_of(session);
    if (choice.ckpt_interval) {
        if (const auto wish = checkpoint::parse_interval_wish(*choice.ckpt_interval)) {
            facts.own_interval_s = wish->seconds;
        }
    }
    facts.job = {.per_1000_node_days = seconds_of(session, variable::rate),  // a plain number, too
                 .cost_s = seconds_of(session, variable::cost),
                 .step_s = seconds_of(session, variable::step),
                 .restart_s = std::nullopt};
    if (settings) {
        const auto as_double = [](const std::optional<std::uint32_t>& value) {
            return value ? std::optional<double>{*value} : std::nullopt;
        };
        facts.policy = {.per_1000_node_days = settings->per_1000_node_days,
                        .cost_s = as_double(settings->cost_s),
                        .step_s = as_double(settings->step_s),
                        .restart_s = as_double(settings->restart_s)};
    }
    const auto source = text_of(session, variable::source);
    facts.cost_is_measured = source == checkpoint::from::history;
    facts.told_by_policy = source == checkpoint::from::policy;
    facts.end_s = end_s && *end_s > 0 ? end_s : std::nullopt;
    facts.restarts = count_of(session, "SLURM_RESTART_COUNT").value_or(0);
    return facts;
}

// ---- companions ---------------------------------------------------------------------------

/// Whether the program may be run: as Slurm's own, by root's or the site's hand alone.
bool is_trusted(const std::string& helper) {
    const UniqueFd file{::open(helper.c_str(), O_PATH | O_CLOEXEC)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        slurm_info("railhead: no checkpoint clock: %s is missing", helper.c_str());
        return false;
    }
    const auto owner = policy::trusted_owner(policy::default_places().slurm_conf);
    if (const auto trusted = check_trusted(status, helper, owner); !trusted) {
        slurm_info("railhead: no checkpoint clock: %s", to_string(trusted.error()).c_str());
        return false;
    }
    return true;
}

/// The program's environment: what it and Slurm's commands need, nothing that a job can break
/// them with.
std::vector<std::string> companion_environment(const Session& session) {
    std::vector<std::string> result{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"};
    for (const auto* const name : {"HOME", "USER", "XDG_STATE_HOME", "SLURM_CONF"}) {
        auto value = session.variable(name);
        if (!value && std::string_view{name} == "SLURM_CONF") {
            const char* own = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
            value = own == nullptr ? value : std::optional<std::string>{own};
        }
        if (value) {
            result.push_back(fmt::format("{}={}", name, *value));
        }
    }
    return result;
}

/// Whom a clock on this node signals; nothing: there is none to signal here.
std::optional<std::string_view> target_here(const Session& session, Target target) {
    const auto kind = session.kind();
    if (kind == StepKind::interactive) {
        return std::nullopt;  // what people run in a shell is not to be looked at for ranks
    }
    if (kind == StepKind::batch) {
        return target == Target::batch ? "batch" : "in-batch";
    }
    if (target == Target::batch) {
        return std::nullopt;
    }
    if (target != Target::rank0) {
        return "tasks";
    }
    const bool has_first = session.number(S_JOB_NODEID).value_or(0) == 0;
    return has_first ? std::optional<std::string_view>{"rank0"} : std::nullopt;
}

std::vector<std::string> clock_words(const Session& session, const SignalWish& wish,
                                     std::string_view target, const checkpoint::Launch& launch,
                                     const std::string& helper) {
    std::vector<std::string> words{helper, "clock"};
    const auto add = [&](const char* name, const auto& value) {
        words.emplace_back(name);
        words.push_back(fmt::format("{}", value));
    };
    add("--job", session.number(S_JOB_ID).value_or(0));
    add("--signal", wish.number);
    add("--target", target);
    add("--interval", launch.interval_s);
    add("--lead", launch.lead_s);
    if (launch.deadline_s) {
        add("--deadline", *launch.deadline_s);
    }
    if (session.kind() == StepKind::step && session.number(S_JOB_NNODES).value_or(1) > 1) {
        add("--node", node_name(session));
    }
    if (session.number(S_JOB_NODEID).value_or(0) == 0) {
        words.emplace_back("--speaks");
        add("--scontrol", checkpoint::find_scontrol(own_program()));
    }
    return words;
}

void add_companion(const Session& session, std::vector<std::string> words) {
    auto companion = Companion::make(std::move(words), companion_environment(session));
    if (companion) {
        current.companions.push_back(std::move(*companion));
    } else {
        slurm_info("railhead: no checkpoint clock: %s", to_string(companion.error()).c_str());
    }
}

}  // namespace

void note_job_end(const Session& session) {
    // srun's own process; the step's environment is this one.
    // NOLINTBEGIN(concurrency-mt-unsafe)
    const Lookup lookup = [](std::string_view name) {
        const char* value = std::getenv(std::string{name}.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>{value};
    };
    const auto choice = choose({}, lookup);
    const auto job = session.number(S_JOB_ID).value_or(0);
    const bool concerned =
        choice && choice->railhead &&
        (choice->ckpt_interval || choice->ckpt_signal || choice->ckpt_dir ||
         lookup(variable::source) || lookup(variable::cost) || lookup(variable::step));
    if (!concerned || job == 0) {
        return;
    }
    const auto known = told_end(job, lookup(variable::job_end).value_or(""), "");
    if (known) {
        return;
    }
    ::unsetenv(variable::job_end);  // another job's
    if (const auto end =
            checkpoint::ask_job_end(checkpoint::find_scontrol(own_program()), job, answer_limit)) {
        ::setenv(variable::job_end, checkpoint::write_job_end(job, *end).c_str(), 1);
    }
    // NOLINTEND(concurrency-mt-unsafe)
}

void prepare_checkpoints(const Session& session, const rails::PluginArguments& arguments,
                         SitePolicy& policy, bool has_gpus) {
    current = {};
    const auto choice = choice_of(arguments, session);
    if (!choice || !choice->railhead) {
        return clear(session);
    }
    const auto nodes = nodes_of(session);
    const bool concerned = is_concerned(session, *choice);
    if (!concerned && !(has_gpus && nodes > 1)) {
        return;
    }
    const auto settings = settings_of(session, policy);
    const bool by_policy = settings && settings->mode == policy::Mode::enforce && has_gpus &&
                           nodes >= settings->min_nodes;
    if (!concerned && !by_policy && !(settings && declares(session, *choice, *settings))) {
        return;
    }
    const auto end_s = job_end(session);
    const auto launch = checkpoint::plan_launch(facts_of(session, *choice, settings, end_s));
    if (!launch) {
        slurm_info("railhead: no checkpoint interval: %s", to_string(launch.error()).c_str());
        return clear(session);
    }
    change(session, checkpoint::launch_variables(*launch));
    if (end_s) {
        session.set(variable::job_end,
                    checkpoint::write_job_end(session.number(S_JOB_ID).value_or(0),
                                              *end_s > 0 ? end_s : std::nullopt));
    }
    const auto wish = signal_of(session, *choice, settings);
    const auto target = wish ? target_here(session, wish->target) : std::nullopt;
    if (target && !arguments.helper.empty() && is_trusted(arguments.helper)) {
        add_companion(session, clock_words(session, *wish, *target, *launch, arguments.helper));
    }
    current.tasks_left = session.number(S_JOB_LOCAL_TASK_COUNT).value_or(1);
}

void start_companions(const Session& session) {
    if (session.number(S_TASK_ID).value_or(0) != 0) {
        return;
    }
    for (const auto& companion : current.companions) {
        if (const auto started = companion.start(); !started) {
            slurm_error("railhead: no checkpoint clock: %s", to_string(started.error()).c_str());
        }
    }
}

void finish_companions(const Session& /*session*/) {
    if (current.tasks_left == 0 || --current.tasks_left > 0) {
        return;
    }
    for (auto& companion : current.companions) {
        companion.finish(farewell);
    }
    current.companions.clear();
}

}  // namespace railhead::spank
