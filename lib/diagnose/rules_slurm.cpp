// Rules on what Slurm says of jobs and of slurmctld: how jobs ended, how the scheduler keeps up.
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/rules_slurm.hpp"

namespace railhead::diagnose {

namespace {

/// The first attempt in one of these states.
const JobAttempt* attempt_in(const SlurmRecords& records,
                             std::initializer_list<std::string_view> states) {
    const auto found = std::ranges::find_if(records.attempts, [&](const JobAttempt& attempt) {
        return std::ranges::find(states, short_state(attempt.state)) != states.end();
    });
    return found == records.attempts.end() ? nullptr : &*found;
}

/// What a rule on ends of jobs answers where it sees none: it has looked, or could not.
Finding no_end(const Facts& facts) {
    const auto& records = facts.machine.slurm;
    const bool is_told = !records.attempts.empty() || !facts.machine.slurmd_logs.empty();
    if (!is_told) {
        return unknown({Input::job_records, Input::slurmd_log});
    }
    return is_of_few(records) ? not_found() : unknown({Input::one_job});
}

Finding find_job_memory(const Facts& facts) {
    const auto& records = facts.machine.slurm;
    const auto* attempt = is_of_few(records) ? attempt_in(records, {"OUT_OF_MEMORY"}) : nullptr;
    const auto* event = daemon_event(facts, {SlurmdEventKind::oom});
    if (attempt == nullptr && event == nullptr) {
        return no_end(facts);
    }
    const auto job = attempt != nullptr ? attempt->id
                     : event->job       ? std::to_string(*event->job)
                                        : std::string{"?"};
    auto finding =
        found(Confidence::certain,
              fmt::format("Job {} took more memory of the host than it was given.", job), {});
    if (attempt != nullptr) {
        finding.evidence.push_back(evidence_of(attempt->from));
    }
    if (event != nullptr) {
        finding.evidence.push_back(event->evidence);
    }
    finding.fix = {
        "#SBATCH --mem=0: all memory of its nodes",
        "fewer loader workers, no copy of the data set in each; a checkpoint that does "
        "not collect the whole state on one rank",
        fmt::format("sacct -j {} --format=JobID,MaxRSS,MaxRSSNode,ReqMem: what it took", job)};
    finding.expected = "ranks that live";
    return finding;
}

struct End {
    std::string_view state, what, fix;
    Role role;
};
constexpr std::array ends{
    End{"TIMEOUT", "its time limit was over",
        "submit again from the last checkpoint, with a longer --time; --signal=B:USR1@300 tells it "
        "before",
        Role::cause},
    End{"DEADLINE", "its deadline was over", "submit again without --deadline, or earlier",
        Role::cause},
    End{"PREEMPTED", "it was preempted by a job of higher priority",
        "a QOS or partition that is not preempted (scontrol show partition: PreemptMode), and "
        "checkpoints",
        Role::cause},
    End{"CANCELLED", "it was cancelled by a person or a program",
        "sacct -j JOB --format=State%40 tells the user's id", Role::symptom},
    End{"BOOT_FAIL", "a node did not boot for it", "the console of the node; ResumeTimeout",
        Role::symptom},
};

Finding ended(const End& end, const std::string& job, Evidence evidence) {
    auto finding = found(Confidence::certain, fmt::format("Slurm ended job {}: {}.", job, end.what),
                         {std::move(evidence)});
    finding.role = end.role;
    finding.fix = {std::string{end.fix},
                   "--ckpt-dir, so that the job is watched and restarts from its last checkpoint: "
                   "railhead ckpt tells the interval"};
    finding.expected = "a run that goes on, or from its last checkpoint";
    return finding;
}

/// The state that words of slurmd's log mean: "DUE TO TIME LIMIT".
const End* end_of(std::string_view reason) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> words{
        {{"TIME LIMIT", "TIMEOUT"}, {"PREEMPTION", "PREEMPTED"}}};
    for (const auto& [word, state] : words) {
        if (reason.find(word) != std::string_view::npos) {
            return &*std::ranges::find(ends, state, &End::state);
        }
    }
    return nullptr;
}

Finding find_job_ended(const Facts& facts) {
    const auto& records = facts.machine.slurm;
    if (is_of_few(records)) {
        for (const auto& end : ends) {
            if (const auto* attempt = attempt_in(records, {end.state})) {
                return ended(end, attempt->id, evidence_of(attempt->from));
            }
        }
    }
    for (const auto& log : facts.machine.slurmd_logs) {
        for (const auto& event : log.events) {
            const auto* end =
                event.kind == SlurmdEventKind::cancelled ? end_of(event.reason) : nullptr;
            if (end != nullptr) {
                return ended(*end, event.job ? std::to_string(*event.job) : "?", event.evidence);
            }
        }
    }
    return no_end(facts);
}

/// A figure of sdiag that is beyond what slurmctld is made for.
struct Hint {
    std::string what, fix, expected;
};

/// Limits are Slurm's own: bf_interval's default, MaxDBDMsgs' least, MAX_SERVER_THREADS.
std::optional<Hint> hint_of(const ControllerStatistics& said) {
    constexpr std::uint64_t interval_us = 30'000'000;
    constexpr std::uint64_t most_messages = 10'000;
    constexpr std::uint64_t most_threads = 256;
    if (said.dbd_agent_queue.value_or(0) >= most_messages) {
        return Hint{
            fmt::format("{} messages for slurmdbd wait; from MaxDBDMsgs on (10,000 and more) "
                        "records are lost.",
                        *said.dbd_agent_queue),
            "systemctl status slurmdbd; its log; innodb_buffer_pool_size of its database",
            "records of all jobs"};
    }
    if (said.server_threads.value_or(0) >= most_threads) {
        return Hint{fmt::format("slurmctld serves {} requests at once, of at most {}: others wait.",
                                *said.server_threads, most_threads),
                    "sdiag: who sends most requests (squeue in loops); "
                    "SlurmctldParameters=rl_enable",
                    "commands and launches that are answered at once"};
    }
    const auto cycle_us =
        std::max(said.backfill_last_us.value_or(0), said.backfill_mean_us.value_or(0));
    if (cycle_us > interval_us) {
        return Hint{
            fmt::format("A cycle of backfill takes {:.0f} s, longer than bf_interval (30 s unless "
                        "set){}: jobs that could start wait for it.",
                        static_cast<double>(cycle_us) * 1e-6,
                        said.backfill_queue
                            ? fmt::format(", with {} jobs in the queue", *said.backfill_queue)
                            : std::string{}),
            "SchedulerParameters=bf_max_job_user=..., bf_resolution=300, bf_max_job_test=..., "
            "bf_continue",
            fmt::format("a start up to {:.0f} s earlier: {:.0f} - 30",
                        static_cast<double>(cycle_us - interval_us) * 1e-6,
                        static_cast<double>(cycle_us) * 1e-6)};
    }
    return std::nullopt;
}

Finding find_scheduling(const Facts& facts) {
    if (facts.machine.controllers.empty()) {
        return unknown({Input::sdiag});
    }
    for (const auto& said : facts.machine.controllers) {
        const auto hint = hint_of(said);
        if (!hint) {
            continue;
        }
        auto finding = found(Confidence::likely, hint->what, {said.evidence});
        finding.role = Role::advice;
        finding.fix = {hint->fix};
        finding.expected = hint->expected + "; steps of a running job do not change";
        return finding;
    }
    return not_found();
}

constexpr std::string_view of_end[] = {"rank-failed",  "collective-timeout", "hang",
                                       "nccl-connect", "absent-rank",        "nccl-ras"};

constexpr Rule rules[] = {
    {"job-memory", "jobs that took more memory than they were given", "one rank that dies ends all",
     of_end, find_job_memory},
    {"job-ended", "jobs that Slurm ended", "what ranks print then is no fault of theirs", of_end,
     find_job_ended},
    {"scheduling",
     "a scheduler that is late",
     "jobs wait for it, not for nodes",
     {},
     find_scheduling},
};

}  // namespace

std::span<const Rule> slurm_rules() {
    return rules;
}

}  // namespace railhead::diagnose
