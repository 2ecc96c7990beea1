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

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

std::uint64_t cpus_per_task(const Work& work) {
    return work.request.cpus_per_task.value_or(1);
}

/// CPUs that come with each GPU; nothing when -c says how many come with each task.
std::optional<std::uint32_t> cpus_per_gpu(const Work& work) {
    if (work.request.cpus_per_task) {
        return std::nullopt;
    }
    return work.request.cpus_per_gpu ? work.request.cpus_per_gpu
                                     : work.partition.limits.def_cpus_per_gpu;
}

/// What the fullest node of `nodes` would have to hold.
struct NodeLoad {
    std::uint64_t tasks = 0;
    std::uint64_t cpus = 0;
    std::uint64_t memory_mb = 0;
};

NodeLoad load_of(const Work& work, std::uint64_t nodes) {
    const auto& request = work.request;
    const auto& limits = work.partition.limits;
    const std::uint64_t gpus = work.gpus_per_node;
    NodeLoad load;
    load.tasks = std::max<std::uint64_t>(1, ceil_div(work.demand.tasks, nodes));
    if (request.tasks_per_node) {
        load.tasks = std::max<std::uint64_t>(load.tasks, *request.tasks_per_node);
    }
    // Slurm hands out whole cores, so a task's CPUs are rounded up to them.
    const std::uint64_t threads = std::max(1U, work.partition.capacity.threads_per_core);
    const auto whole_core = request.threads_per_core || request.tasks_per_core ? threads : 1;
    const auto per_task = ceil_div(cpus_per_task(work) * whole_core, threads) * threads;
    load.cpus = load.tasks * per_task;
    if (const auto by_gpu = cpus_per_gpu(work)) {
        load.cpus = std::max(load.cpus, ceil_div(*by_gpu * gpus, threads) * threads);
    }
    load.cpus = std::max<std::uint64_t>(load.cpus, request.min_cpus_per_node.value_or(0));
    if (request.mem_per_node_mb) {
        load.memory_mb = *request.mem_per_node_mb;
    } else if (request.mem_per_cpu_mb) {
        load.memory_mb = *request.mem_per_cpu_mb * load.cpus;
    } else if (request.mem_per_gpu_mb) {
        load.memory_mb = *request.mem_per_gpu_mb * gpus;
    } else if (limits.def_mem_per_gpu_mb) {
        load.memory_mb = *limits.def_mem_per_gpu_mb * gpus;
    } else if (limits.def_mem_per_node_mb) {
        load.memory_mb = *limits.def_mem_per_node_mb;
    } else if (limits.def_mem_per_cpu_mb) {
        load.memory_mb = *limits.def_mem_per_cpu_mb * load.cpus;
    }
    return load;
}

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

/// A word of the request that makes the node count, or the whole nodes, more than a matter of
/// GPUs, CPUs and memory.  Slurm's own search is then better than our arithmetic.
std::string_view left_to_slurm(const Work& work) {
    const auto& request = work.request;
    if (!request.reservation.empty()) {
        return "a reservation was asked for";
    }
    if (work.demand.several_types) {
        return "several types of GPU were asked for";
    }
    if (work.demand.by_socket) {
        return "GPUs were asked for by socket";
    }
    if (request.spread) {
        return "--spread-job was asked for";
    }
    if (request.constraint.find_first_of("[]*(") != std::string_view::npos) {
        return "the constraint counts nodes";
    }
    if (request.sockets_per_node || request.cores_per_socket || request.tasks_per_socket ||
        request.core_spec || request.tmp_disk_mb) {
        return "the shape of a node was asked for";
    }
    return {};
}

/// How many nodes of the partition have all their GPUs of the type asked for.
std::size_t nodes_with_gpus(const Work& work) {
    const auto& partition = work.partition;
    if (work.demand.type.empty() || (!partition.several_types && partition.gpu_type == work.demand.type)) {
        return partition.gpu_nodes.size();
    }
    return static_cast<std::size_t>(std::ranges::count_if(partition.gpu_nodes, [&](const auto node) {
        return has_gpus(work.site.cluster.nodes[node], work.demand, work.gpus_per_node);
    }));
}

/// Why `nodes` nodes may be too few, or too many, for this job; empty when they are right.
std::string why_not(const Work& work, std::uint64_t nodes) {
    const auto& limits = work.partition.limits;
    const auto& capacity = work.partition.capacity;
    const auto load = load_of(work, nodes);
    if (const auto word = left_to_slurm(work); !word.empty()) {
        return std::string{word};
    }
    if (limits.max_nodes && nodes > *limits.max_nodes) {
        return fmt::format("the partition allows {} a job", count_of(*limits.max_nodes, "node"));
    }
    if (nodes < limits.min_nodes) {
        return fmt::format("the partition asks for {} at least", count_of(limits.min_nodes, "node"));
    }
    if (const auto there = nodes_with_gpus(work); nodes > there) {
        return fmt::format("the partition has {}{}", count_of(there, "node"),
                           work.demand.type.empty()
                               ? std::string{" with GPUs"}
                               : fmt::format(" with {} GPUs", printable(work.demand.type)));
    }
    if (work.request.tasks_per_node && work.demand.tasks > *work.request.tasks_per_node * nodes) {
        return fmt::format("{} at {} a node need more nodes", count_of(work.demand.tasks, "task"),
                           *work.request.tasks_per_node);
    }
    // With --ntasks-per-gpu sbatch writes another task count than -n says, and leaves -n's CPUs.
    const auto cpus = std::max(load.tasks * nodes * cpus_per_task(work),
                               cpus_per_gpu(work).value_or(0) * work.demand.total);
    if (work.request.min_cpus && *work.request.min_cpus > cpus) {
        return fmt::format("{} are more than {} need", count_of(*work.request.min_cpus, "CPU"),
                           count_of(work.demand.tasks, "task"));
    }
    if (const auto by_gpu = cpus_per_gpu(work);
        by_gpu && load.tasks > std::uint64_t{*by_gpu} * work.gpus_per_node) {
        return fmt::format("{} a GPU are fewer CPUs than tasks", count_of(*by_gpu, "CPU"));
    }
    if (load.cpus > capacity.cpus) {
        return fmt::format("{} need {} CPUs a node and there are {}", count_of(load.tasks, "task"),
                           load.cpus, capacity.cpus);
    }
    const auto memory_mb =
        std::min(capacity.memory_mb, limits.max_mem_per_node_mb.value_or(capacity.memory_mb));
    if (load.memory_mb > memory_mb) {
        return fmt::format("{} MB a node are needed and there are {}", load.memory_mb, memory_mb);
    }
    if (limits.max_mem_per_cpu_mb && load.memory_mb > *limits.max_mem_per_cpu_mb * load.cpus) {
        return "the partition adds CPUs to a job of so much memory a CPU";
    }
    return {};
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
    if (const auto by_gpu = cpus_per_gpu(work)) {
        return std::uint64_t{*by_gpu} * work.gpus_per_node == capacity.all_cpus
                   ? std::string{}
                   : std::string{"CPUs follow the GPUs and would become more tasks"};
    }
    if (request.cpus_per_task || request.tasks_per_core || request.threads_per_core ||
        !capacity.cpus_uniform || capacity.cpus != capacity.all_cpus ||
        capacity.threads_per_core > 1) {
        if (request.min_cpus_per_node.value_or(0) > cpus_per_task(work)) {
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
    const auto whole = ceil_div(work.demand.total, work.gpus_per_node);
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
    if (const auto reason = why_not(work, nodes); !reason.empty()) {
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
    if (least > nodes_with_gpus(work)) {
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
        work.gpus_per_node > 0 && nodes_with_gpus(work) == 0) {
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
