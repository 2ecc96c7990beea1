// The checkpoint rule: batch jobs are told how often a checkpoint pays, and jobs that say that they
// can checkpoint and resume get what that takes: a signal before the end, requeue, append mode.
//
// A job that does not say so is never signalled, requeued or appended for: a signal that nobody
// catches kills, and a requeue starts from the beginning.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/interval.hpp"
#include "checkpoint/schedule.hpp"
#include "checkpoint/timing.hpp"
#include "checkpoint/variables.hpp"
#include "checkpoint/wish.hpp"
#include "policy/checkpoint_signal.hpp"
#include "policy/price.hpp"
#include "policy/rules.hpp"
#include "policy/usable.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "checkpoint";
constexpr std::uint64_t minute_s = 60;

namespace variable = checkpoint::variable;

/// What the rule knows of a job.
struct Job {
    std::optional<double> own_interval_s;
    std::optional<checkpoint::SignalWish> signal;  ///< --ckpt-signal
    bool asked = false;                            ///< says a word of ours
    std::string_view declared;  ///< by what it says that it can resume; empty: it does not
    checkpoint::ScheduleFacts facts;
    checkpoint::Schedule schedule;
};

std::string span_text(double seconds) {
    return duration_text(static_cast<std::uint64_t>(std::llround(seconds)));
}

void say(Work& work, NoteKind kind, std::string text) {
    work.say(rule, kind, std::move(text), work.settings.checkpoint.mode);
    work.out.notes.back().repeated = work.request.component;
}

bool enforces(const Work& work) {
    return work.settings.checkpoint.mode == Mode::enforce;
}

/// The nodes asked for, or those that the GPUs need; 1 where neither tells.
std::uint32_t nodes_of(const Work& work) {
    const auto stated = work.request.max_nodes.value_or(work.request.min_nodes.value_or(0));
    if (work.nodes > 0 || stated > 0) {
        return work.nodes > 0 ? work.nodes : stated;
    }
    const auto each = std::max(work.gpus_per_node, 1U);
    const auto needed = work.gpus_per_node > 0 ? (work.demand.total + each - 1) / each : 1;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(needed, 1, UINT32_MAX));
}

/// The job's time limit in minutes, or what its partitions give it; job::unlimited for none.
std::uint32_t limit_min_of(const Work& work) {
    if (work.request.time_limit_min) {
        return *work.request.time_limit_min;
    }
    auto least_min = job::unlimited;
    static_cast<void>(on_each_partition(work, [&](const PartitionSite& partition) {
        const auto& limits = partition.limits;
        const auto limit = limits.default_time_min ? limits.default_time_min : limits.max_time_min;
        least_min = std::min(least_min, limit.value_or(job::unlimited));
        return true;
    }));
    return least_min;
}

/// The least time that the job may be given; nothing where it has no limit, or none is known.
std::optional<std::uint64_t> limit_s_of(const Work& work) {
    const auto least_min =
        std::min(limit_min_of(work), work.request.least_time_limit_min.value_or(job::unlimited));
    return least_min < job::unlimited ? std::optional{least_min * minute_s} : std::nullopt;
}

/// The first variable that the policy lists and the job has set.
std::string_view declaring_variable(const Work& work) {
    const auto& names = work.settings.checkpoint.declares;
    if (names == nullptr) {
        return {};
    }
    for (const auto& name : *names) {
        const auto value = job::find_variable(work.request.environment, name);
        if (value && !value->empty() && *value != "0") {
            return name;
        }
    }
    return {};
}

/// Reads what the user says; what cannot be read is told and does not count.
void read_wishes(Work& work, Job& job) {
    const auto& words = work.request.checkpoint;
    if (!words.interval.empty()) {
        const auto wish = checkpoint::parse_interval_wish(words.interval);
        if (wish) {
            job.own_interval_s = wish->seconds;
            job.declared = "--ckpt-interval";
        } else {
            say(work, NoteKind::advice, fmt::format("--ckpt-interval: {}", wish.error().message));
        }
    }
    if (!words.signal.empty()) {
        const auto wish = checkpoint::parse_signal_wish(words.signal);
        if (wish) {
            job.signal = *wish;
            job.declared = "--ckpt-signal";
        } else {
            say(work, NoteKind::advice, fmt::format("--ckpt-signal: {}", wish.error().message));
        }
    }
    job.asked = !job.declared.empty();
    if (!job.asked) {
        job.declared = work.request.signal ? "--signal" : declaring_variable(work);
    }
}

/// A figure of the user's, of the policy, or the usual one.
double figure(Work& work, std::string_view name, std::string_view said,
              const std::optional<std::uint32_t>& site, double usual) {
    if (!said.empty()) {
        if (const auto seconds = checkpoint::parse_seconds(said)) {
            return *seconds;
        }
        say(work, NoteKind::advice, fmt::format("{}={} is no time", name, printable(said)));
    }
    return site ? *site : usual;
}

checkpoint::ScheduleFacts facts_of(Work& work, const Job& job, std::uint32_t nodes) {
    const auto& settings = work.settings.checkpoint;
    const auto& words = work.request.checkpoint;
    const auto& usual = checkpoint::usual();
    checkpoint::ScheduleFacts facts;
    facts.per_1000_node_days = settings.per_1000_node_days.value_or(usual.per_1000_node_days);
    facts.nodes = nodes;
    facts.cost_s = figure(work, variable::cost, words.cost, settings.cost_s, usual.cost_s);
    facts.step_s = figure(work, variable::step, words.step, settings.step_s, usual.step_s);
    facts.restart_s = settings.restart_s ? *settings.restart_s : usual.restart_s;
    facts.own_interval_s = job.own_interval_s;
    return facts;
}

/// Whose interval it is, as RAILHEAD_CKPT_FROM says it.
std::string_view source_of(const Work& work, const Job& job) {
    const auto& settings = work.settings.checkpoint;
    if (job.own_interval_s) {
        return "user";
    }
    if (work.request.checkpoint.history) {
        return "history";
    }
    return settings.per_1000_node_days || settings.cost_s ? "policy" : "default";
}

/// Whether the clock on the nodes signals the job: then Slurm does not.
bool has_clock(const Work& work, const Job& job) {
    const auto& settings = work.settings.checkpoint;
    return settings.clock && !job.declared.empty() && (job.signal || settings.signal);
}

/// "16 nodes fail every 9 d, and a checkpoint takes 30 s".
std::string reckoning(const Job& job) {
    return fmt::format("{} fail every {}, and a checkpoint takes {}",
                       count_of(job.facts.nodes, "node"), span_text(job.schedule.mtbf_s),
                       span_text(job.facts.cost_s));
}

void refuse_or_advise(Work& work, bool refuse, std::string text) {
    if (refuse && enforces(work)) {
        work.out.refusal = Refusal{rule, std::move(text)};
    } else {
        say(work, NoteKind::advice, std::move(text));
    }
}

void cap_time(Work& work, const std::string& why) {
    const auto cap_min =
        static_cast<std::uint32_t>(work.settings.checkpoint.undeclared_time_s / minute_s);
    if (cap_min == 0 || limit_min_of(work) <= cap_min) {
        return;
    }
    say(work, NoteKind::change,
        fmt::format("time limit {} {}: {}", enforces(work) ? "becomes" : "would become",
                    duration_text(cap_min * minute_s), why));
    work.out.notes.back().repeated = false;  // each component has a limit of its own
    if (enforces(work)) {
        work.out.changes.time_limit_min = cap_min;
    }
}

/// A job that does not declare, and is larger than the site lets pass.
void review_undeclared(Work& work, const Job& job) {
    const auto& settings = work.settings.checkpoint;
    if (settings.undeclared == Undeclared::ignore || job.facts.nodes <= settings.declare_above) {
        return;
    }
    auto why = fmt::format(
        "{} fail every {}, and this job does not say that it can checkpoint and resume: say "
        "--ckpt-interval=auto or --ckpt-signal=USR1 if it can",
        count_of(job.facts.nodes, "node"), span_text(job.schedule.mtbf_s));
    if (settings.undeclared == Undeclared::cap) {
        cap_time(work, why);
    } else {
        refuse_or_advise(work, settings.undeclared == Undeclared::refuse, std::move(why));
    }
}

/// An interval of the user's that loses more than the site finds right.
void review_interval(Work& work, const Job& job) {
    const auto& settings = work.settings.checkpoint;
    const auto most_s = settings.most_interval * job.schedule.optimum_s;
    if (settings.long_interval == LongInterval::ignore || !job.own_interval_s ||
        *job.own_interval_s <= most_s) {
        return;
    }
    const auto timing = checkpoint::Timing::make({.mtbf_s = job.schedule.mtbf_s,
                                                  .cost_s = job.facts.cost_s,
                                                  .restart_s = job.facts.restart_s});
    if (!timing) {
        return;  // make_schedule() has read the same
    }
    const auto loss = [&](double interval_s) {
        return percent_text(checkpoint::shares_of(*timing, interval_s).waste());
    };
    refuse_or_advise(
        work, settings.long_interval == LongInterval::refuse,
        fmt::format("an interval of {} loses {}, one of {} {}: {}; say --ckpt-interval=auto, or {} "
                    "at most",
                    span_text(*job.own_interval_s), loss(*job.own_interval_s),
                    span_text(job.schedule.optimum_s), loss(job.schedule.optimum_s), reckoning(job),
                    span_text(most_s)));
}

void tell_variables(Work& work, const Job& job, std::string_view source) {
    const auto& words = work.request.checkpoint;
    const auto interval_s = job.own_interval_s.value_or(std::round(job.schedule.interval_s));
    say(work, NoteKind::quiet,
        job.own_interval_s
            ? fmt::format("your interval of {} is kept: {}, so {} would pay", span_text(interval_s),
                          reckoning(job), span_text(job.schedule.optimum_s))
            : fmt::format("{} told to checkpoint every {}: {}", enforces(work) ? "is" : "would be",
                          span_text(interval_s), reckoning(job)));
    if (!enforces(work)) {
        return;
    }
    auto& environment = work.out.changes.environment;
    environment.reserve(7);
    environment.push_back({variable::interval, fmt::format("{}", interval_s)});
    environment.push_back({variable::source, std::string{source}});
    environment.push_back({variable::mtbf, fmt::format("{:.0f}", job.schedule.mtbf_s)});
    environment.push_back({variable::lead, fmt::format("{:.0f}", std::ceil(job.schedule.lead_s))});
    environment.push_back({variable::rate, fmt::format("{}", job.facts.per_1000_node_days)});
    if (words.cost.empty()) {
        environment.push_back({variable::cost, fmt::format("{}", job.facts.cost_s)});
    }
    if (words.step.empty()) {
        environment.push_back({variable::step, fmt::format("{}", job.facts.step_s)});
    }
}

/// What Slurm is to send, if anything.  Says why not, where somebody asked for it.
std::optional<Warning> warning_of(Work& work, const Job& job) {
    const auto& settings = work.settings.checkpoint;
    if (work.request.signal) {
        say(work, NoteKind::info, "your --signal is kept");
        return std::nullopt;
    }
    if (has_clock(work, job)) {
        say(work, NoteKind::info, "no --signal: the clock on the nodes signals it");
        return std::nullopt;
    }
    if (!job.signal && !settings.signal) {
        return std::nullopt;
    }
    SignalAsk ask;
    ask.wish = job.signal ? *job.signal : checkpoint::SignalWish{*settings.signal, {}};
    ask.target_is_users = ask.wish.target != checkpoint::Target::unsaid;
    if (!ask.target_is_users) {
        ask.wish.target = settings.signal_to;
    }
    ask.lead_s = job.schedule.lead_s;
    ask.limit_s = limit_s_of(work);
    auto plan = plan_signal(work, ask);
    if (!plan.warning) {
        say(work, NoteKind::advice,
            fmt::format(
                "no --signal={}: {}{}", checkpoint::signal_name(ask.wish.number), plan.reason,
                ask.target_is_users ? "" : "; --ckpt-signal=SIGNAL@batch or @tasks says whom"));
    }
    return plan.warning;
}

/// What a job gets that can checkpoint and resume.
void help(Work& work, const Job& job) {
    const auto& settings = work.settings.checkpoint;
    const auto& request = work.request;
    Changes changes;
    changes.warning = warning_of(work, job);
    changes.requeue = settings.requeue && !request.requeue;
    changes.append = settings.append && !request.open_mode && request.requeue.value_or(true);
    std::string words;
    if (changes.warning) {
        words =
            fmt::format(" --signal={}{}@{}", changes.warning->batch ? "B:" : "",
                        checkpoint::signal_name(changes.warning->signal), changes.warning->seconds);
    }
    words += changes.requeue ? " --requeue" : "";
    words += changes.append ? " --open-mode=append" : "";
    if (words.empty()) {
        return;
    }
    say(work, NoteKind::change,
        fmt::format("can checkpoint and resume ({}): {}{}", printable(job.declared),
                    enforces(work) ? "gets" : "would get", words));
    if (enforces(work)) {
        auto& out = work.out.changes;
        out.warning = changes.warning;
        out.requeue = changes.requeue;
        out.append = changes.append;
    }
}

}  // namespace

void apply_checkpoint_rule(Work& work) {
    const auto& request = work.request;
    if (!request.batch) {
        return;
    }
    Job job;
    read_wishes(work, job);
    const auto nodes = nodes_of(work);
    if (!job.asked && (!work.demand.any() || nodes < work.settings.checkpoint.min_nodes)) {
        return;
    }
    job.facts = facts_of(work, job, nodes);
    const auto schedule = checkpoint::make_schedule(job.facts);
    if (!schedule) {
        say(work, NoteKind::info, fmt::format("no interval: {}", schedule.error().message));
        return;
    }
    job.schedule = *schedule;
    const auto source = source_of(work, job);
    work.out.seen.checkpoint = SeenCheckpoint{
        job.schedule,        nodes, job.facts.cost_s, source, std::string{job.declared},
        has_clock(work, job)};
    if (job.declared.empty()) {
        review_undeclared(work, job);
    } else {
        review_interval(work, job);
    }
    if (work.out.refusal) {
        return;
    }
    if (!request.component) {
        tell_variables(work, job, source);  // the batch script is the first component's
    }
    // The components of a heterogeneous job differ in size, and are to be requeued together: only
    // what is said by name counts for all of them.
    if (job.asked || (!job.declared.empty() && !request.heterogeneous)) {
        help(work, job);
    }
}

}  // namespace railhead::policy
