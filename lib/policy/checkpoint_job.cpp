#include "policy/checkpoint_job.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/variables.hpp"
#include "policy/usable.hpp"

namespace railhead::policy {

namespace {

namespace variable = checkpoint::variable;

constexpr std::uint64_t minute_s = 60;
constexpr std::string_view own_signal = "--signal";

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
void read_wishes(Work& work, CheckpointJob& job) {
    const auto& words = work.request.checkpoint;
    if (!words.interval.empty()) {
        const auto wish = checkpoint::parse_interval_wish(words.interval);
        if (wish) {
            job.own_interval_s = wish->seconds;
            job.declared = "--ckpt-interval";
        } else {
            say_of_checkpoints(work, NoteKind::advice,
                               fmt::format("--ckpt-interval: {}", wish.error().message));
        }
    }
    if (!words.signal.empty()) {
        const auto wish = checkpoint::parse_signal_wish(words.signal);
        if (wish) {
            job.signal = *wish;
            job.declared = wish->number != 0 ? "--ckpt-signal" : job.declared;
        } else {
            say_of_checkpoints(work, NoteKind::advice,
                               fmt::format("--ckpt-signal: {}", wish.error().message));
        }
    }
    job.asked = !job.declared.empty();
    if (!job.asked) {
        job.declared = declaring_variable(work);
    }
    if (job.declared.empty() && work.request.signal) {
        job.declared = own_signal;
    }
}

/// A figure of the user's, of the policy, or the usual one.
double figure(Work& work, std::string_view name, std::string_view said,
              const std::optional<std::uint32_t>& site, double usual) {
    if (!said.empty()) {
        if (const auto seconds = checkpoint::parse_seconds(said)) {
            return *seconds;
        }
        say_of_checkpoints(work, NoteKind::advice,
                           fmt::format("{}={} is no time", name, printable(said)));
    }
    return site ? *site : usual;
}

}  // namespace

void say_of_checkpoints(Work& work, NoteKind kind, std::string text) {
    work.say("checkpoint", kind, std::move(text), work.settings.checkpoint.mode);
    work.out.notes.back().repeated = work.request.component;
}

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

std::optional<std::uint64_t> limit_s_of(const Work& work) {
    const auto least_min =
        std::min(limit_min_of(work), work.request.least_time_limit_min.value_or(job::unlimited));
    return least_min < job::unlimited ? std::optional{least_min * minute_s} : std::nullopt;
}

CheckpointJob read_checkpoint_job(Work& work) {
    CheckpointJob job;
    read_wishes(work, job);
    job.facts.nodes = nodes_of(work);
    return job;
}

void read_facts(Work& work, CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    const auto& words = work.request.checkpoint;
    const auto& usual = checkpoint::usual();
    auto& facts = job.facts;
    facts.per_1000_node_days = settings.per_1000_node_days.value_or(usual.per_1000_node_days);
    facts.cost_s = figure(work, variable::cost, words.cost, settings.cost_s, usual.cost_s);
    facts.step_s = figure(work, variable::step, words.step, settings.step_s, usual.step_s);
    facts.restart_s = settings.restart_s ? *settings.restart_s : usual.restart_s;
    facts.own_interval_s = job.own_interval_s;
}

std::string_view source_of(const Work& work, const CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    if (job.own_interval_s) {
        return "user";
    }
    if (work.request.checkpoint.history) {
        return "history";
    }
    return settings.per_1000_node_days || settings.cost_s ? "policy" : "default";
}

bool has_clock(const Work& work, const CheckpointJob& job) {
    const auto& settings = work.settings.checkpoint;
    // A --signal of the job's own is not seen on the nodes.
    const bool declares_there = !job.declared.empty() && job.declared != own_signal;
    if (job.signal) {
        return job.signal->number != 0;
    }
    return settings.clock && settings.signal && declares_there;
}

}  // namespace railhead::policy
