#include "checkpoint/attempts.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::checkpoint {

namespace {

constexpr std::array<std::string_view, 9> cause_names{"unknown",    "exited",    "failed",
                                                      "node",       "preempted", "requeued",
                                                      "time limit", "cancelled", "completed"};

bool counts_neither_way(Cause cause) {
    return cause == Cause::preempted || cause == Cause::requeued;
}

bool failed(Cause cause) {
    return cause != Cause::completed && cause != Cause::time_limit && cause != Cause::cancelled;
}

}  // namespace

std::string_view to_string(Cause cause) {
    return cause_names.at(static_cast<std::size_t>(cause));
}

Cause parse_cause(std::string_view text) {
    const auto* const at = std::ranges::find(cause_names, text);
    return at == cause_names.end() ? Cause::unknown : static_cast<Cause>(at - cause_names.begin());
}

std::uint32_t failures_in_a_row(std::span<const Attempt> before) {
    std::uint32_t failures = 0;
    for (auto attempt = before.rbegin(); attempt != before.rend(); ++attempt) {
        if (attempt->checkpoints > 0 ||
            (!counts_neither_way(attempt->cause) && !failed(attempt->cause))) {
            break;
        }
        failures += counts_neither_way(attempt->cause) ? 0 : 1;
    }
    return failures;
}

bool is_to_be_held(std::uint32_t failures, std::uint32_t limit) {
    return limit > 0 && failures + 1 >= limit;
}

std::string hold_reason(std::uint32_t failures, std::uint32_t job) {
    const auto before =
        failures == 0 ? std::string{"no attempt may fail before a checkpoint"}
                      : count_of(failures, "attempt") + " in a row failed before a checkpoint";
    return fmt::format(
        "railhead: {}: this one is held if it fails too; a checkpoint frees it, or scontrol "
        "release {}",
        before, job);
}

std::optional<double> lost_s(const Attempt& attempt) {
    if (!attempt.ended_s || attempt.cause == Cause::completed || attempt.cause == Cause::exited) {
        return std::nullopt;
    }
    return std::max(0.0, *attempt.ended_s - attempt.last_s.value_or(attempt.started_s));
}

Cause cause_of_state(std::string_view state) {
    constexpr std::array<std::pair<std::string_view, Cause>, 11> states{{
        {"NODE_FAIL", Cause::node},
        {"BOOT_FAIL", Cause::node},
        {"PREEMPTED", Cause::preempted},
        {"REQUEUED", Cause::requeued},
        {"TIMEOUT", Cause::time_limit},
        {"DEADLINE", Cause::time_limit},
        {"CANCELLED", Cause::cancelled},
        {"COMPLETED", Cause::completed},
        {"FAILED", Cause::failed},
        {"OUT_OF_MEMORY", Cause::failed},
        {"SPECIAL_EXIT", Cause::failed},
    }};
    for (const auto& [name, cause] : states) {
        if (state.starts_with(name)) {
            return cause;
        }
    }
    return Cause::unknown;
}

bool has_failed_step(const JobEnd& end) {
    return end.worst_step.ends_with(":0") && end.worst_step != "0:0";
}

Cause cause_of_end(const JobEnd& end, std::uint32_t restarts) {
    if (const auto cause = cause_of_state(end.state); cause != Cause::unknown) {
        return cause;
    }
    // Slurm takes a node that is back at once, and it looks well then.  But of steps that it lost
    // with a node slurmctld never heard the end: NO_VAL, which looks like signal 126.  And it waits
    // no longer for that node to end the job, which runs on it still: pending, not completing.
    const bool is_requeued = end.restarts > restarts;
    const bool is_lost = is_requeued && (end.worst_step == "0:126" || end.state == "PENDING");
    if (end.has_dead_node || is_lost) {
        return Cause::node;
    }
    if (is_requeued) {
        // Of an exit status in RequeueExit the job knows the status; who is preempted, or requeued
        // by hand, has none.
        return end.exit_code.empty() || end.exit_code == "0:0" ? Cause::requeued : Cause::failed;
    }
    return Cause::exited;  // slurmctld hears of it when the step is over
}

std::optional<std::string> sacct_state(std::string_view text, std::uint32_t restarts) {
    std::vector<std::string_view> states;
    for (const auto line : split(text, '\n')) {
        if (const auto state = trim(line); !state.empty()) {
            states.push_back(state);
        }
    }
    return restarts < states.size() ? std::optional{std::string{states[restarts]}} : std::nullopt;
}

}  // namespace railhead::checkpoint
