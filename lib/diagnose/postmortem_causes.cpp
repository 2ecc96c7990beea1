// The table of causes: what an end looks like, what that says, and what to do.  The first row that
// fits counts.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/failures.hpp"
#include "diagnose/postmortem.hpp"

namespace railhead::diagnose {

namespace {

using Lines = std::vector<std::string>;

std::string_view state_of(const Ending& ending) {
    return short_state(ending.attempt->state);
}

bool is_of_node(const Ending& ending) {
    const auto state = state_of(ending);
    const bool is_open = state == "REQUEUED" || state == "COMPLETING";
    return state == "NODE_FAIL" || (is_open && !ending.attempt->failed_node.empty());
}

bool has_reason(const Ending& ending, std::string_view text) {
    return ending.event != nullptr && ending.event->reason.find(text) != std::string::npos;
}

std::string node_of(const Ending& ending) {
    return ending.node.empty() ? std::string{"NODE"} : ending.node;
}

/// Exit status and signal of "1:9".
struct Exit {
    unsigned status = 0, signal = 0;
};
Exit exit_of(const Ending& ending) {
    const auto parts = split(ending.attempt->exit_code, ':');
    Exit exit;
    exit.status = parse_number<unsigned>(parts[0]).value_or(0);
    exit.signal = parts.size() > 1 ? parse_number<unsigned>(parts[1]).value_or(0) : 0;
    constexpr unsigned shells = 128;  // 137: what a shell makes of signal 9
    if (exit.signal == 0 && exit.status > shells && exit.status < shells + 65) {
        exit.signal = exit.status - shells;
    }
    return exit;
}

Lines collect_from_node(const Ending& ending) {
    const auto node = node_of(ending);
    return {
        fmt::format("on {}: journalctl -k -b -1 (Xid, machine check, out of memory, link down "
                    "before the reboot)",
                    node),
        fmt::format("ipmitool sel elist, from the BMC of {} (power, temperature, memory)", node),
        fmt::format("on {}: nvidia-smi -q and dcgmi diag -r 2, once it is back", node)};
}

Lines fix_of_node(const Ending& ending) {
    const auto node = node_of(ending);
    return {fmt::format("scontrol update NodeName={} State=DRAIN Reason=\"post-mortem of job {}\"",
                        node, ending.attempt->id),
            fmt::format("on {}: railhead health; then State=RESUME, or keep it out by "
                        "railhead.lemons",
                        node)};
}

Lines prevent_node(const Ending&) {
    return {
        "railhead lemons on the accounting of some months: does this node fail more often than "
        "the others?",
        "railhead mtbf, and railhead ckpt --rate with its result: is the interval right?",
        "railhead health as HealthCheckProgram, so that a node is drained before it dies"};
}

Lines nothing(const Ending&) {
    return {};
}

std::string clue_text(const Ending& ending) {
    return fmt::format("{} ({})", ending.clue->what, ending.clue->source);
}

struct Row {
    std::string_view id;
    bool is_determined;
    bool (*fits)(const Ending&);
    std::string (*what)(const Ending&);
    Lines (*collect)(const Ending&);
    Lines (*fix)(const Ending&);
    Lines (*prevention)(const Ending&);
};

Lines collect_output(const Ending& ending) {
    return {fmt::format("the output of job {}, of all ranks: the first traceback counts",
                        ending.attempt->id),
            "railhead diagnose OUTPUT"};
}

Lines prevent_by_checkpoints(const Ending&) {
    return {
        "--ckpt-dir, so that the job is watched and restarts from its last checkpoint: "
        "railhead ckpt tells the interval"};
}

constexpr std::array rows{
    Row{"clue", true, [](const Ending& e) { return e.clue != nullptr && e.clue->is_cause; },
        clue_text, nothing, [](const Ending& e) { return e.clue->fix; },
        [](const Ending& e) { return e.clue->prevention; }},
    Row{"node-planned", true,
        [](const Ending& e) { return is_of_node(e) && e.event != nullptr && is_planned(*e.event); },
        [](const Ending& e) {
            return fmt::format("{} was taken out of service on purpose while the job ran: \"{}\"",
                               e.node, e.event->reason);
        },
        nothing,
        [](const Ending& e) {
            return Lines{fmt::format("give {} back: State=RESUME", node_of(e))};
        },
        [](const Ending&) {
            return Lines{"State=DRAIN lets running jobs end, State=DOWN kills them",
                         "a reservation with flags=maint ahead of work on nodes"};
        }},
    Row{"node-rebooted", false,
        [](const Ending& e) { return has_reason(e, "unexpectedly rebooted"); },
        [](const Ending& e) {
            return fmt::format("{} rebooted by itself while the job ran; why is not told", e.node);
        },
        collect_from_node, fix_of_node, prevent_node},
    Row{"node-reason", true,
        [](const Ending& e) {
            return (is_of_node(e) || state_of(e) == "FAILED") && e.event != nullptr &&
                   !is_planned(*e.event) && !e.event->reason.empty() &&
                   !has_reason(e, "Not responding");
        },
        [](const Ending& e) {
            return fmt::format("{} went {} for \"{}\"{}", e.node, e.event->state, e.event->reason,
                               state_of(e) == "FAILED" ? ", about when the job failed" : "");
        },
        nothing, fix_of_node, prevent_node},
    Row{"node-silent", false,
        [](const Ending& e) { return !e.node.empty() && has_reason(e, "Not responding"); },
        [](const Ending& e) {
            return fmt::format("{} stopped responding; why is not told", e.node);
        },
        collect_from_node, fix_of_node, prevent_node},
    Row{"node-failed", false,
        [](const Ending& e) { return !e.node.empty() && (is_of_node(e) || e.event != nullptr); },
        [](const Ending& e) {
            return e.event != nullptr
                       ? fmt::format("{} went {}; why is not told", e.node, e.event->state)
                       : fmt::format("{} failed; why is not told", e.node);
        },
        collect_from_node, fix_of_node, prevent_node},
    Row{"node-unknown", false, is_of_node,
        [](const Ending&) {
            return std::string{"a node of the job failed; which one is not told"};
        },
        [](const Ending& e) {
            return Lines{fmt::format("sacctmgr show event --parsable2 Nodes={}, as --events",
                                     e.attempt->node_list),
                         "slurmctld.log from 15 min before, as --log"};
        },
        nothing, prevent_node},
    Row{"seen-first", false,
        [](const Ending& e) {
            const auto state = state_of(e);
            return e.clue != nullptr && (state == "FAILED" || state == "CANCELLED");
        },
        clue_text, [](const Ending& e) { return e.clue->fix; }, nothing,
        [](const Ending& e) { return e.clue->prevention; }},
    Row{"out-of-memory", true, [](const Ending& e) { return state_of(e) == "OUT_OF_MEMORY"; },
        [](const Ending&) {
            return std::string{"its processes took more memory of the host than the job was given"};
        },
        nothing,
        [](const Ending&) {
            return Lines{"--mem=0 (all memory of the nodes), or fewer and smaller loader workers"};
        },
        [](const Ending&) {
            return Lines{"sacct --format=JobID,MaxRSS,ReqMem of a good run tells what it needs"};
        }},
    Row{"time-limit", true,
        [](const Ending& e) { return state_of(e) == "TIMEOUT" || state_of(e) == "DEADLINE"; },
        [](const Ending&) { return std::string{"its time limit was over"}; }, nothing,
        [](const Ending&) {
            return Lines{"submit again from the last checkpoint, with a longer --time if need be"};
        },
        prevent_by_checkpoints},
    Row{"preempted", true,
        [](const Ending& e) {
            return state_of(e) == "PREEMPTED" ||
                   (e.line != nullptr && e.line->kind == LineKind::preempted);
        },
        [](const Ending&) { return std::string{"it was preempted by a job of higher priority"}; },
        nothing, nothing, prevent_by_checkpoints},
    Row{"cancelled", true, [](const Ending& e) { return state_of(e) == "CANCELLED"; },
        [](const Ending& e) {
            const std::string_view by = e.attempt->state;
            const auto at = by.rfind(' ');
            return at == std::string_view::npos
                       ? std::string{"it was cancelled"}
                       : fmt::format("it was cancelled by the user with the id {}",
                                     by.substr(at + 1));
        },
        nothing, nothing, nothing},
    Row{"requeued", true, [](const Ending& e) { return state_of(e) == "REQUEUED"; },
        [](const Ending&) {
            return std::string{
                "it was requeued by a person, or preempted: Slurm does not tell "
                "them apart"};
        },
        nothing, nothing, prevent_by_checkpoints},
    Row{"boot-fail", false, [](const Ending& e) { return state_of(e) == "BOOT_FAIL"; },
        [](const Ending&) { return std::string{"a node did not boot for it; why is not told"}; },
        collect_from_node, nothing, nothing},
    Row{"signal", false, [](const Ending& e) { return exit_of(e).signal != 0; },
        [](const Ending& e) {
            return fmt::format("it was ended by signal {}; who sent it is not told",
                               exit_of(e).signal);
        },
        [](const Ending& e) {
            auto lines = collect_output(e);
            lines.push_back(
                fmt::format("journalctl -k of {}: the out-of-memory killer sends "
                            "signal 9, a fault of the program is signal 11 or 7",
                            e.attempt->node_list));
            return lines;
        },
        nothing, nothing},
    Row{"exit-status", false, [](const Ending& e) { return exit_of(e).status != 0; },
        [](const Ending& e) {
            return fmt::format("its program ended with status {}; why stands in its output",
                               exit_of(e).status);
        },
        collect_output, nothing, nothing},
    Row{"unknown", false, [](const Ending&) { return true; },
        [](const Ending& e) {
            return fmt::format("Slurm calls it {}, and nothing else is told", e.attempt->state);
        },
        collect_output, nothing, nothing},
};

}  // namespace

RootCause cause_of(const Ending& ending) {
    const auto& row = *std::ranges::find_if(rows, [&](const Row& one) { return one.fits(ending); });
    return {row.id,          row.is_determined,     row.what(ending), row.collect(ending),
            row.fix(ending), row.prevention(ending)};
}

}  // namespace railhead::diagnose
