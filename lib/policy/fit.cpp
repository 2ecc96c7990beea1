// Whether a node can hold its share of a job: GPUs, CPUs and memory.  Asked before anything is
// written that could leave a job with nodes too small for it.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

std::uint64_t cpus_per_task(const Work& work) {
    return work.request.cpus_per_task.value_or(1);
}

/// A job spread over `nodes` nodes, with `gpus` GPUs on the fullest.
struct Share {
    std::uint64_t nodes = 1;
    std::uint64_t gpus = 0;
};

/// What the fullest node of `nodes` would have to hold.
struct NodeLoad {
    std::uint64_t tasks = 0;
    std::uint64_t cpus = 0;
    std::uint64_t memory_mb = 0;
};

NodeLoad load_of(const Work& work, const PartitionSite& partition, Share share) {
    const auto& request = work.request;
    const auto& limits = partition.limits;
    const auto gpus = share.gpus;
    NodeLoad load;
    load.tasks = std::max<std::uint64_t>(1, ceil_div(work.demand.tasks, share.nodes));
    if (request.tasks_per_node) {
        load.tasks = std::max<std::uint64_t>(load.tasks, *request.tasks_per_node);
    }
    // Slurm hands out whole cores, so a task's CPUs are rounded up to them.
    const std::uint64_t threads = std::max(1U, partition.capacity.threads_per_core);
    const auto whole_core = request.threads_per_core || request.tasks_per_core ? threads : 1;
    const auto per_task = ceil_div(cpus_per_task(work) * whole_core, threads) * threads;
    load.cpus = load.tasks * per_task;
    if (const auto by_gpu = cpus_per_gpu(work, partition)) {
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

}  // namespace

std::optional<std::uint32_t> cpus_per_gpu(const Work& work, const PartitionSite& partition) {
    if (work.request.cpus_per_task) {
        return std::nullopt;
    }
    return work.request.cpus_per_gpu ? work.request.cpus_per_gpu
                                     : partition.limits.def_cpus_per_gpu;
}

std::string_view left_to_slurm(const Work& work) {
    const auto& request = work.request;
    if (!request.reservation.empty()) {
        return "a reservation was asked for";
    }
    if (work.demand.several_types) {
        return "several types of GPU were asked for";
    }
    if (work.demand.others) {
        return "other resources than GPUs were asked for";
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

std::size_t nodes_with_gpus(const Work& work, const PartitionSite& partition) {
    if (work.demand.type.empty() || (!partition.several_types && partition.gpu_type == work.demand.type)) {
        return partition.gpu_nodes.size();
    }
    return static_cast<std::size_t>(std::ranges::count_if(partition.gpu_nodes, [&](const auto node) {
        return has_gpus(work.site.cluster.nodes[node], work.demand, work.gpus_per_node);
    }));
}

std::string why_not(const Work& work, const PartitionSite& partition, std::uint64_t nodes,
                    std::uint64_t gpus) {
    const auto& limits = partition.limits;
    const auto& capacity = partition.capacity;
    const auto load = load_of(work, partition, {nodes, gpus});
    if (const auto word = left_to_slurm(work); !word.empty()) {
        return std::string{word};
    }
    if (limits.max_nodes && nodes > *limits.max_nodes) {
        return fmt::format("the partition allows {} a job", count_of(*limits.max_nodes, "node"));
    }
    if (nodes < limits.min_nodes) {
        return fmt::format("the partition asks for {} at least", count_of(limits.min_nodes, "node"));
    }
    if (const auto there = nodes_with_gpus(work, partition); nodes > there) {
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
                               cpus_per_gpu(work, partition).value_or(0) * work.demand.total);
    if (work.request.min_cpus && *work.request.min_cpus > cpus) {
        return fmt::format("{} are more than {} need", count_of(*work.request.min_cpus, "CPU"),
                           count_of(work.demand.tasks, "task"));
    }
    if (const auto by_gpu = cpus_per_gpu(work, partition);
        by_gpu && load.tasks > std::uint64_t{*by_gpu} * gpus) {
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

}  // namespace railhead::policy
