// The gang rule: a job that needs more GPUs than a node has gets whole nodes, all at once.
//
// Only a node count that the user left open is written, and only when GPUs, CPUs and memory all
// allow the number that the GPUs alone need: a job that stock Slurm would run is never refused
// for our sake.  GPU fields stay as written: min_nodes, max_nodes and exclusive give the same
// nodes, tasks and GPUs on every release.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "gang";

/// Memory that one CPU of the job brings with it, which exclusive use multiplies by every CPU.
std::uint64_t memory_per_cpu(const Work& work) {
    const auto& request = work.request;
    if (request.mem_per_node_mb || request.mem_per_gpu_mb) {
        return 0;
    }
    const auto& limits = work.partition.limits;
    const bool by_default = !limits.def_mem_per_gpu_mb && !limits.def_mem_per_node_mb;
    return request.mem_per_cpu_mb.value_or(by_default ? limits.def_mem_per_cpu_mb.value_or(0) : 0);
}

/// What keeps exclusive use from being written; empty when nothing does.
std::string why_not_exclusive(const Work& work) {
    const auto& capacity = work.partition.capacity;
    const auto& limits = work.partition.limits;
    const auto wanted = work.settings.gang.exclusive;
    if (wanted == Exclusive::never) {
        return "the policy says exclusive = false";
    }
    if (wanted == Exclusive::when_safe && work.site.limits_enforced) {
        return "accounting limits are enforced and would count every CPU of the node";
    }
    if (limits.over_subscribe.starts_with("FORCE")) {
        return "the partition forces sharing";
    }
    if (limits.max_cpus_per_node) {
        return "the partition limits the CPUs of a node";
    }
    if (limits.max_mem_per_cpu_mb || limits.max_mem_per_node_mb) {
        return "the partition limits the memory of a job on a node";
    }
    if (memory_per_cpu(work) * capacity.all_cpus > capacity.memory_mb) {
        return fmt::format("{} MB a CPU times {} CPUs is more memory than a node has",
                           memory_per_cpu(work), capacity.all_cpus);
    }
    if (work.request.overcommit) {
        return "--overcommit was asked for";
    }
    return {};
}

/// Whole nodes have more CPUs than the job asked for, and Slurm would turn them into tasks
/// (SLURM_TASKS_PER_NODE of 64 where stock has 1).  These two values keep stock's layout.
///
/// Gives why the layout cannot be kept; empty when it can.
std::string keep_layout(const Work& work, Changes& changes) {
    const auto& request = work.request;
    const auto& capacity = work.partition.capacity;
    if (work.demand.tasks > 0 || request.tasks_per_node) {
        return {};  // the user said how many tasks
    }
    if (const auto by_gpu = cpus_per_gpu(work, work.partition)) {
        return std::uint64_t{*by_gpu} * work.gpus_per_node == capacity.all_cpus
                   ? std::string{}
                   : std::string{"CPUs follow the GPUs and would become more tasks"};
    }
    if (request.cpus_per_task || request.tasks_per_core || request.threads_per_core ||
        !capacity.cpus_uniform || capacity.cpus != capacity.all_cpus ||
        capacity.threads_per_core > 1) {
        if (request.min_cpus_per_node.value_or(0) > request.cpus_per_task.value_or(1)) {
            return "--mincpus asks for more CPUs than a task has";
        }
        changes.tasks = work.nodes;  // one a node, as stock counts when no task was asked for
    } else {
        changes.cpus_per_task = capacity.all_cpus;
    }
    return {};
}

/// "2 whole nodes of 8 GPUs (n01 .. left open before), exclusive: all 128 CPUs are billed".
void report(Work& work, bool count_written, bool exclusive, const std::string& shared_because) {
    const auto mode = work.settings.gang.mode;
    std::string text =
        count_written ? fmt::format("{} GPUs {} {} of {} GPUs", work.demand.total,
                                    mode == Mode::enforce ? "become" : "would become",
                                    count_of(work.nodes, "whole node"), work.gpus_per_node)
                      : fmt::format("{} of {} GPUs {}", count_of(work.nodes, "node"),
                                    work.gpus_per_node,
                                    mode == Mode::enforce ? "are yours alone" : "would be yours alone");
    if (exclusive) {
        text += fmt::format(", exclusive (all {} CPUs are billed)",
                            std::uint64_t{work.partition.capacity.all_cpus} * work.nodes);
    } else if (!shared_because.empty()) {
        text += fmt::format(", not exclusive: {}", shared_because);
    }
    work.say(rule, NoteKind::change, std::move(text), mode);
}

void write(Work& work, bool count_open) {
    Changes changes;
    if (count_open) {
        changes.min_nodes = work.nodes;
        changes.max_nodes = work.nodes;
    }
    std::string shared_because;
    bool exclusive = false;
    if (work.request.sharing == job::Sharing::unset &&
        work.partition.limits.over_subscribe != "EXCLUSIVE") {
        shared_because = why_not_exclusive(work);
        if (shared_because.empty()) {
            shared_because = keep_layout(work, changes);
        }
        exclusive = shared_because.empty();
    }
    changes.exclusive = exclusive;
    if (!count_open && !exclusive) {
        return;
    }
    report(work, count_open, exclusive, shared_because);
    if (work.settings.gang.mode == Mode::enforce) {
        work.out.changes = changes;
    } else if (count_open) {
        work.count_mode = work.settings.gang.mode;
    }
}

/// GPUs that do not fill whole nodes.
void partial(Work& work) {
    const auto setting = work.settings.gang.partial;
    if (setting == Partial::ignore) {
        return;
    }
    const auto whole = (work.demand.total + work.gpus_per_node - 1) / work.gpus_per_node;
    auto text = fmt::format(
        "{} GPUs do not fill whole nodes of {}: ask for {} GPUs ({}) to get the nodes to yourself",
        work.demand.total, work.gpus_per_node, whole * work.gpus_per_node, count_of(whole, "node"));
    if (setting == Partial::refuse && work.settings.gang.mode == Mode::enforce) {
        work.out.refusal = Refusal{rule, std::move(text)};
    } else {
        work.say(rule, NoteKind::advice, std::move(text), work.settings.gang.mode);
    }
}

void review_open_count(Work& work) {
    const auto& demand = work.demand;
    if (demand.total == 0 || demand.total <= work.gpus_per_node) {
        return;  // fits one node, or the count follows from what only Slurm can tell
    }
    if (demand.per_node > 0 && demand.per_node != work.gpus_per_node) {
        work.say(rule, NoteKind::info, "left as it is: GPUs a node do not fill a node");
        return;
    }
    if (demand.total % work.gpus_per_node != 0) {
        partial(work);
        return;
    }
    const auto nodes = demand.total / work.gpus_per_node;
    const auto tasks = demand.tasks;
    if (tasks > 0 && tasks < nodes) {
        work.say(rule, NoteKind::advice,
                 fmt::format("{} cannot use the {} GPUs of {}: say -N{} as well",
                             count_of(tasks, "task"), demand.total, count_of(nodes, "node"), nodes),
                 work.settings.gang.mode);
        return;
    }
    if (const auto reason = why_not(work, work.partition, nodes, work.gpus_per_node); !reason.empty()) {
        work.say(rule, NoteKind::info, fmt::format("node count left open: {}", reason));
        return;
    }
    if (work.request.tasks && work.request.tasks == work.request.tasks_per_node && nodes > 1 &&
        demand.per_node == 0) {
        work.say(rule, NoteKind::advice,
                 fmt::format("--ntasks-per-node={} without -N counts {} for the whole job: say -N{}",
                             tasks, count_of(tasks, "task"), nodes),
                 work.settings.gang.mode);
    }
    work.nodes = static_cast<std::uint32_t>(nodes);
    write(work, true);
}

/// The user said how many nodes: that stays, they may still be had alone.
void review_stated_count(Work& work) {
    const auto& request = work.request;
    const auto least = *request.min_nodes;
    const auto most = request.max_nodes.value_or(least);
    const bool range = most != least;
    const auto& demand = work.demand;
    const bool fills = demand.per_node > 0 ? demand.per_node == work.gpus_per_node
                                           : demand.total == std::uint64_t{least} * work.gpus_per_node;
    work.nodes = most;
    if (range) {
        work.say(rule, NoteKind::info, fmt::format("your node range {}-{} is kept", least, most));
    }
    // Of a range only GPUs a node fill whatever count it becomes, and only tasks that are known
    // keep their layout.
    if (least < 2 || !fills ||
        (range && (demand.per_node == 0 || (demand.tasks == 0 && !request.tasks_per_node)))) {
        return;
    }
    if (const auto word = left_to_slurm(work); !word.empty()) {
        work.say(rule, NoteKind::info, fmt::format("not made exclusive: {}", word));
        return;
    }
    if (least > nodes_with_gpus(work, work.partition)) {
        return;  // stock will say so
    }
    write(work, false);
}

}  // namespace

void apply_gang_rule(Work& work) {
    if (!work.demand.any() || work.demand.unreadable) {
        return;
    }
    if (!work.demand.type.empty() && !work.partition.mixed && !work.partition.gpu_nodes.empty() &&
        work.gpus_per_node > 0 && nodes_with_gpus(work, work.partition) == 0) {
        work.say(rule, NoteKind::advice,
                 fmt::format("no node of partition \"{}\" has {} GPUs", printable(work.partition.name),
                             printable(work.demand.type)),
                 work.settings.gang.mode);
    }
    if (work.gpus_per_node == 0) {
        if (work.partition.mixed) {
            work.say(rule, NoteKind::info,
                     fmt::format("left as it is: partition \"{}\" mixes nodes of unequal GPUs",
                                 printable(work.partition.name)));
        }
        work.nodes = work.request.max_nodes.value_or(work.request.min_nodes.value_or(0));
        return;
    }
    if (work.request.min_nodes) {
        review_stated_count(work);
    } else if (work.request.node_list.empty()) {
        review_open_count(work);
    }  // else -w names the nodes: nothing is open
}

}  // namespace railhead::policy
