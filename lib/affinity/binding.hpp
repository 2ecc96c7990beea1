// Which CPUs a task gets: those near its GPUs, within what Slurm granted, shared fairly.
//
// The CPUs near each GPU of the step are dealt out once, by whole cores, so that tasks on one NUMA
// node never meet on a core; a task gets the shares of its GPUs.  Nothing here widens what Slurm
// granted, and a task is left as it is rather than squeezed: an empty intersection is normal (all
// CPUs of the job on the other socket), and CPUs that the user asked for are never taken away.
//
// A pure function over plain values; spank/ reads the masks and applies the answer.
#pragma once

#include <string>
#include <vector>

#include "affinity/task_gpus.hpp"
#include "base/cpu_set.hpp"
#include "node/node.hpp"

namespace railhead::affinity {

/// The CPUs of one GPU.
struct Share {
    CpuSet cpus;
    unsigned gpus = 1;  ///< how many GPUs of the step have these same CPUs
};

/// The CPUs of each of the step's GPUs, in the order of `gpus`.
///
/// GPUs with the same local CPUs share them evenly: contiguous runs of granted cores, both threads
/// of a core together, sizes differing by one core at most.  Where there are fewer cores than
/// GPUs, each gets all of them.  A GPU without granted CPUs near it gets an empty set.
[[nodiscard]] std::vector<Share> share_cpus(const node::Node& node,
                                            const std::vector<std::size_t>& gpus,
                                            const CpuSet& granted);

/// What Slurm gave the step and the task.
struct Grant {
    CpuSet step;                 ///< CPUs of the step on this node, over all its tasks
    CpuSet task;                 ///< the mask that Slurm gave this task
    unsigned cpus_per_task = 1;  ///< --cpus-per-task
};

/// What becomes of one task.
struct Binding {
    CpuSet cpus;         ///< bind to these; empty: leave the task's mask alone
    std::string reason;  ///< why it is left alone: "no granted CPU is near GPU 1"
};

/// The binding of a task with these GPUs.
///
/// Where every GPU of the step has a share, the task gets the shares of its own.  Where one has
/// none, its tasks keep Slurm's mask, and others may not take CPUs from them: each task then gets
/// the near part of its own mask.  Where either would leave the task fewer CPUs than it asked for,
/// it is left alone; asked for is --cpus-per-task, or an even part of the step if that is less.
[[nodiscard]] Binding bind_task(const node::Node& node, const StepTasks& step, const TaskGpus& task,
                                const Grant& grant);

}  // namespace railhead::affinity
