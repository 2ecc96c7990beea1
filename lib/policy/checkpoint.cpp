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
#include "policy/checkpoint_job.hpp"
#include "policy/checkpoint_signal.hpp"
#include "policy/price.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "checkpoint";
constexpr std::uint64_t minute_s = 60;

namespace variable = checkpoint::variable;

std::string span_text(double seconds) {
    if (seconds < 1) {
        return fmt::format("{:.2g} s", seconds);
    }
    return duration_text(static_cast<std::uint64_t>(std::llround(seconds)));
}

bool enforces(const Work& work) {
    return work.settings.checkpoint.mode == Mode::enforce;
}

/// "16 nodes fail every 9 d".
std::string failing(const CheckpointJob& job) {
    return fmt::format("{} {} every {}", count_of(job.facts.nodes, "node"),
                       job.facts.nodes == 1 ? "fails" : "fail", span_text(job.schedule.mtbf_s));
}

/// "16 nodes fail every 9 d, and a checkpoint takes 30 s".
std::string reckoning(const CheckpointJob& job) {
    return fmt::format("{}, and a checkpoint takes {}", failing(job), span_text(job.facts.cost_s));
}

void refuse_or_advise(Work& work, bool refuse, std::string text) {
    if (refuse && enforces(work)) {
        work.out.refusal = Refusal{rule, std::move(text)};
    } else {
        say_of_checkpoints(work, NoteKind::advice, std::move(text));
    }
}

void cap_time(Work& work, const std::string& why) {
    const auto cap_min =
        static_cast<std::uint32_t>(work.settings.checkpoint.undeclared_time_s / minute_s);
    if (cap_min == 0 || limit_min_of(work) <= cap_min) {
        return;
    }
    say_of_checkpoints(
        work, NoteKind::change,
        fmt::format("time limit {} {}: {}", enforces(work) ? "becomes" : "would become",
                    duration_text(cap_min * minute_s), why));
    work.out.notes.back().repeated = false;  // each component has a limit of its own
    if (enforces(work)) {
        work.out.changes.time_limit_min = cap_min;
    }
}

/// Whether the site wants a job of this size to declare, and it does not.
bool lacks_declaration(const Work& work, const CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    return job.declared.empty() && work.demand.any() && settings.undeclared != Undeclared::ignore &&
           job.facts.nodes > settings.declare_above;
}

void review_undeclared(Work& work, const CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    auto why = fmt::format(
        "{}, and this job does not say that it can checkpoint and resume: say "
        "--ckpt-interval=auto or --ckpt-signal=USR1 if it can",
        failing(job));
    if (settings.undeclared == Undeclared::cap) {
        cap_time(work, why);
    } else {
        refuse_or_advise(work, settings.undeclared == Undeclared::refuse, std::move(why));
    }
}

/// An interval of the user's that loses more than the site finds right.
void review_interval(Work& work, const CheckpointJob& job) {
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

void tell_variables(Work& work, const CheckpointJob& job, std::string_view source) {
    const auto& words = work.request.checkpoint;
    const auto interval_s = job.own_interval_s.value_or(std::round(job.schedule.interval_s));
    say_of_checkpoints(
        work, NoteKind::quiet,
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

/// A job whose signal comes of the clock, and how that gets on with the job's own --signal.
void tell_of_clock(Work& work, const SignalAsk& ask) {
    const auto name = checkpoint::signal_name(ask.number);
    if (work.request.signal) {
        say_of_checkpoints(
            work, NoteKind::advice,
            fmt::format("your --signal is kept beside the clock that sends {}: leave it out, Slurm "
                        "sends it also to who does not catch it",
                        name));
        return;
    }
    const auto lacks = too_short(ask, 0);
    say_of_checkpoints(work, lacks.empty() ? NoteKind::info : NoteKind::advice,
                       lacks.empty()
                           ? fmt::format("no --signal: the clock on the nodes sends {}", name)
                           : fmt::format("no {} before the end: {}", name, lacks));
}

/// What Slurm is to send, if anything.  Says why not, where somebody asked for it.
std::optional<Warning> warning_of(Work& work, const CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    const SignalAsk ask{.number = job.signal ? job.signal->number : settings.signal.value_or(0),
                        .target = settings.signal_to,
                        .lead_s = job.schedule.lead_s,
                        .limit_s = limit_s_of(work)};
    if (has_clock(work, job)) {
        tell_of_clock(work, ask);
        return std::nullopt;
    }
    if (work.request.signal) {
        say_of_checkpoints(work, NoteKind::info, "your --signal is kept");
        return std::nullopt;
    }
    if (ask.number == 0) {
        return std::nullopt;
    }
    auto plan = plan_signal(work, ask);
    if (!plan.warning) {
        say_of_checkpoints(
            work, NoteKind::advice,
            fmt::format("no --signal={}: {}", checkpoint::signal_name(ask.number), plan.reason));
    }
    return plan.warning;
}

/// What a job gets that can checkpoint and resume.
void help(Work& work, const CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    const auto& request = work.request;
    Changes changes;
    changes.warning = warning_of(work, job);
    changes.requeue = settings.requeue && !request.requeue;
    changes.append = settings.append && !request.open_mode && request.requeue.value_or(true);
    std::string words;
    if (changes.warning) {
        words = fmt::format(" --signal={}", to_string(*changes.warning));
    }
    words += changes.requeue ? " --requeue" : "";
    words += changes.append ? " --open-mode=append" : "";
    if (words.empty()) {
        return;
    }
    say_of_checkpoints(work, NoteKind::change,
                       fmt::format("can checkpoint and resume ({}): {}{}", printable(job.declared),
                                   enforces(work) ? "gets" : "would get", words));
    if (enforces(work)) {
        auto& out = work.out.changes;
        out.warning = changes.warning;
        out.requeue = changes.requeue;
        out.append = changes.append;
    }
}

/// What a job of which all is known becomes, once it is told its interval.
void serve(Work& work, const CheckpointJob& job) {
    const auto source = source_of(work, job);
    work.out.seen.checkpoint = SeenCheckpoint{job.schedule,
                                              static_cast<std::uint32_t>(job.facts.nodes),
                                              job.facts.cost_s,
                                              source,
                                              std::string{job.declared},
                                              has_clock(work, job)};
    if (!job.declared.empty()) {
        review_interval(work, job);
    }
    if (work.out.refusal) {
        return;
    }
    if (!work.request.component) {
        tell_variables(work, job, source);  // the batch script is the first component's
    }
    // The components of a heterogeneous job differ in size, and are to be requeued together: only
    // what is said by name counts for all of them.
    if (job.asked || (!job.declared.empty() && !work.request.heterogeneous)) {
        help(work, job);
    }
}

}  // namespace

void apply_checkpoint_rule(Work& work) {
    if (!work.request.batch) {
        return;
    }
    auto job = read_checkpoint_job(work);
    const bool is_told =
        job.asked || (work.demand.any() && job.facts.nodes >= work.settings.checkpoint.min_nodes);
    const bool lacks = lacks_declaration(work, job);
    if (!is_told && !lacks) {
        return;
    }
    read_facts(work, job);
    const auto schedule = checkpoint::make_schedule(job.facts);
    if (!schedule) {
        say_of_checkpoints(work, NoteKind::info,
                           fmt::format("no interval: {}", schedule.error().message));
        return;
    }
    job.schedule = *schedule;
    if (lacks) {
        review_undeclared(work, job);
    }
    if (is_told) {
        serve(work, job);
    }
}

}  // namespace railhead::policy
