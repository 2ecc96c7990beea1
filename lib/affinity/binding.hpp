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
#include <string_view>
#include <vector>

#include "affinity/share.hpp"
#include "affinity/task_gpus.hpp"
#include "base/cpu_set.hpp"
#include "node/node.hpp"

namespace railhead::affinity {

/// What Slurm gave the step and the task.
struct Grant {
    CpuSet step;                 ///< CPUs of the step on this node, over all its tasks
    CpuSet task;                 ///< the mask that Slurm gave this task
    unsigned cpus_per_task = 1;  ///< --cpus-per-task
};

/// A step and the shares of its GPUs, in the order of `step.gpus`.
struct StepShares {
    StepTasks step;
    std::vector<Share> shares;
};

/// The shares of the step's GPUs, as bind_task() takes them.
///
/// The CPUs local to each GPU, where those are as many as each task asked for; else also those of
/// its socket that are local to no GPU.  So a task stays within its NUMA node as long as it fits.
/// The answer is the same for every task of the step, or their shares would meet.
[[nodiscard]] StepShares share_step(const node::Node& node, const StepTasks& step,
                                    const Grant& grant);

/// What becomes of one task.
struct Binding {
    CpuSet cpus;         ///< bind to these; empty: leave the task's mask alone
    std::string reason;  ///< why it is left alone: "no granted CPU is near GPU 1"
};

/// Why a task with all GPUs of its step is left alone: its launcher starts a process for each.
inline constexpr std::string_view has_all_gpus = "it has all GPUs of the step";
/// How a reason ends where the tasks choose among all GPUs themselves: "3 tasks share 8 GPUs …".
inline constexpr std::string_view unevenly = "GPUs unevenly";

/// The binding of a task with these GPUs, by what share_step() dealt out.
///
/// Where every GPU of the step has a share, the task gets the shares of its own.  Where one has
/// none, or the step's GPUs are not known, the tasks there keep Slurm's mask, and others may not
/// take CPUs from them: each task then gets the near part of its own mask.  Where either would
/// leave the task fewer CPUs than it asked for, it is left alone; asked for is --cpus-per-task, or
/// an even part of the step if that is less.
[[nodiscard]] Binding bind_task(const node::Node& node, const StepShares& dealt,
                                const TaskGpus& task, const Grant& grant);

}  // namespace railhead::affinity
