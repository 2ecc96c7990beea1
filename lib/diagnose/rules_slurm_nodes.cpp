// Rules on what Slurm says of nodes: those that fell silent, were taken out, or cannot start a job.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "diagnose/failures.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/rules_slurm.hpp"
#include "job/hostlist.hpp"
#include "policy/lemons.hpp"

namespace railhead::diagnose {

namespace {

/// As the records have it: they do not tell their zone.
std::string time_text(std::int64_t at_s) {
    auto text = policy::until_text(at_s);
    if (text.ends_with('Z')) {
        text.pop_back();
    }
    return text;
}

/// The job that had `node` at that time; null where none had.
const JobAttempt* job_on(const SlurmRecords& records, std::string_view node, std::int64_t at_s) {
    const auto found = std::ranges::find_if(records.attempts, [&](const JobAttempt& attempt) {
        return attempt.start_s && *attempt.start_s <= at_s &&
               (!attempt.end_s || at_s <= *attempt.end_s + after_end_s) &&
               job::hostlist_has(attempt.node_list, node);
    });
    return found == records.attempts.end() ? nullptr : &*found;
}

std::string drain(std::string_view node, std::string_view why) {
    return fmt::format("scontrol update NodeName={} State=DRAIN Reason=\"{}\"",
                       node.empty() ? std::string_view{"NODE"} : node, why);
}

bool is_silence(const NodeEvent& event) {
    return event.reason.empty() || event.reason.find("ot responding") != std::string::npos;
}

bool is_down(const NodeEvent& event) {
    return event.state.starts_with("DOWN") || event.state.starts_with("FAIL");
}

/// What a rule on nodes answers where it sees none.
Finding no_event(const Facts& facts) {
    const auto& records = facts.machine.slurm;
    if (records.attempts.empty() && records.events.empty() && records.lines.empty()) {
        return unknown({Input::node_events, Input::job_records});
    }
    return is_of_few(records) ? not_found() : unknown({Input::one_job});
}

Finding silent(std::string node, std::string what, Evidence evidence) {
    auto finding = found(Confidence::certain, std::move(what), {std::move(evidence)});
    finding.role = Role::symptom;  // why it fell silent nobody says
    if (node.empty()) {
        node = "NODE";
    }
    finding.fix = {
        fmt::format("on {}: journalctl -k -b -1: Xid, machine check, out of memory", node),
        fmt::format("ipmitool sel elist, from the BMC of {}", node),
        drain(node, "railhead: fell silent"),
        "railhead postmortem JOB: what it cost; railhead lemons: is it so more often?"};
    finding.expected = "a run that is not ended by a node; railhead ckpt tells what each end costs";
    return finding;
}

Finding find_silent_node(const Facts& facts) {
    const auto& records = facts.machine.slurm;
    if (!is_of_few(records)) {
        return no_event(facts);
    }
    for (const auto& attempt : records.attempts) {
        const bool has_failed = short_state(attempt.state) == "NODE_FAIL" ||
                                (!attempt.failed_node.empty() && attempt.end_s);
        if (has_failed) {
            return silent(attempt.failed_node,
                          fmt::format("Job {} ended for the failure of {}.", attempt.id,
                                      attempt.failed_node.empty() ? "a node that is not named"
                                                                  : attempt.failed_node),
                          evidence_of(attempt.from));
        }
    }
    for (const auto& event : records.events) {
        const auto* job = job_on(records, event.node, event.begin_s);
        if (!is_down(event) || is_planned(event) || !is_silence(event) ||
            (job == nullptr && (!records.attempts.empty() || event.end_s))) {
            continue;
        }
        return silent(event.node,
                      fmt::format("{} stopped responding and went {} at {}{}.", event.node,
                                  event.state, time_text(event.begin_s),
                                  job == nullptr ? "" : ", while job " + job->id + " ran on it"),
                      evidence_of(event.from));
    }
    const auto line = std::ranges::find(records.lines, LineKind::node_failed, &LogLine::kind);
    if (records.attempts.empty() && line != records.lines.end()) {
        return silent(line->nodes,
                      fmt::format("Job {} ended for the failure of {} at {}.", line->job,
                                  line->nodes, time_text(line->at_s)),
                      evidence_of(line->from));
    }
    return no_event(facts);
}

/// Whether the job may have ended for it: jobs run on in a node that is only drained.
bool ended_with(const JobAttempt& job, const NodeEvent& event) {
    return job.end_s && short_state(job.state) != "COMPLETED" &&
           event.begin_s >= *job.end_s - before_end_s && event.begin_s <= *job.end_s + after_end_s;
}

/// What Slurm and health checks write as a reason, and what to do.
struct Reason {
    std::string_view words, fix;
};
constexpr std::array reasons{
    Reason{"gres/gpu count", "nvidia-smi -L on the node: a GPU is gone; dmesg -T | grep -i xid"},
    Reason{"GPU", "nvidia-smi -q and dcgmi diag -r 3 on the node; dmesg -T | grep -i xid"},
    Reason{"Xid", "dmesg -T | grep -i xid: railhead diagnose on it tells what each means"},
    Reason{"Kill task failed",
           "processes in state D (ps -eo pid,stat,wchan,args): storage or the driver hangs; "
           "UnkillableStepTimeout gives them longer"},
    Reason{"rolog", "slurmd's log of that time; run the Prolog by hand on the node"},
    Reason{"pilog", "slurmd's log of that time; run the Epilog by hand on the node"},
    Reason{"RealMemory", "free -m against RealMemory of slurm.conf: a DIMM may be gone"},
    Reason{"rail", "railhead health on the node"},
    Reason{"", "what the reason says, on the node; railhead health there"},
};

Finding find_node_out(const Facts& facts) {
    const auto& records = facts.machine.slurm;
    if (!is_of_few(records)) {
        return no_event(facts);
    }
    for (const auto& event : records.events) {
        const auto* job = job_on(records, event.node, event.begin_s);
        const bool is_over = event.end_s.has_value();
        if (is_planned(event) || is_silence(event) ||
            (job == nullptr && (!records.attempts.empty() || is_over))) {
            continue;
        }
        const auto* reason = std::ranges::find_if(reasons, [&](const Reason& one) {
            return event.reason.find(one.words) != std::string::npos;
        });
        auto finding =
            found(job == nullptr ? Confidence::possible : Confidence::likely,
                  fmt::format("{} was taken out of service ({}) at {} for \"{}\"{}.", event.node,
                              event.state, time_text(event.begin_s), event.reason,
                              job == nullptr ? "" : ", while job " + job->id + " had it"),
                  {evidence_of(event.from)});
        finding.role = job != nullptr && ended_with(*job, event) ? Role::cause : Role::advice;
        finding.fix = {std::string{reason->fix},
                       fmt::format("scontrol update NodeName={} State=RESUME once it is mended; "
                                   "else keep gangs off it by railhead.lemons",
                                   event.node)};
        finding.expected = "a node that stays in service";
        return finding;
    }
    return no_event(facts);
}

Finding find_node_setup(const Facts& facts) {
    if (facts.machine.slurmd_logs.empty()) {
        return unknown({Input::slurmd_log});
    }
    const auto* event =
        daemon_event(facts, {SlurmdEventKind::prolog_failed, SlurmdEventKind::epilog_failed,
                             SlurmdEventKind::health_check_failed, SlurmdEventKind::launch_failed,
                             SlurmdEventKind::gres_missing});
    if (event == nullptr) {
        return not_found();
    }
    const bool is_gpu = event->kind == SlurmdEventKind::gres_missing;
    auto finding = found(
        Confidence::certain,
        fmt::format("slurmd says: {}{}.",
                    is_gpu ? "fewer GPUs are there than gres.conf says" : name_of(event->kind),
                    event->job ? fmt::format(", for job {}", *event->job) : std::string{}),
        {event->evidence});
    finding.fix = {is_gpu
                       ? "nvidia-smi -L against gres.conf; dmesg -T | grep -i xid; drain the node"
                       : "the script by hand on the node (scontrol show config | grep -E "
                         "'Prolog|Epilog|HealthCheckProgram'), with its exit status",
                   "slurmd's log around that line: what it printed"};
    finding.expected = "a node that takes jobs";
    return finding;
}

constexpr std::string_view of_start[] = {"rank-failed", "nccl-connect", "job-ended"};
constexpr std::string_view of_node[] = {"rank-failed",  "collective-timeout", "hang",
                                        "nccl-connect", "retry-exceeded",     "absent-rank",
                                        "nccl-ras",     "silent-node"};
constexpr std::string_view of_silence[] = {"rank-failed",  "collective-timeout", "hang",
                                           "nccl-connect", "retry-exceeded",     "absent-rank",
                                           "nccl-ras"};

constexpr Rule rules[] = {
    {"node-out", "nodes that were taken out of service", "a job ends, or cannot start again",
     of_node, find_node_out},
    {"node-setup", "prologs, health checks and GPUs that slurmd misses",
     "a job does not start on that node", of_start, find_node_setup},
    {"silent-node", "nodes that stopped responding", "the whole gang ends with it", of_silence,
     find_silent_node},
};

}  // namespace

std::span<const Rule> slurm_node_rules() {
    return rules;
}

}  // namespace railhead::diagnose
