// In a task's own process: its CPUs, its memory, and the variables that tell of them.
#pragma once

#include <string>
#include <vector>

#include "affinity/memory.hpp"
#include "affinity/task_gpus.hpp"
#include "base/cpu_set.hpp"
#include "in_task.hpp"

namespace railhead::spank {

/// What was done to one task.
struct Bound {
    CpuSet cpus;              ///< the mask that it has now
    std::string cpus_kept;    ///< why that is Slurm's; empty: it is ours
    affinity::Memory memory;  ///< without nodes: as it was
};

/// A task among those of its step.
struct TaskView {
    affinity::StepTasks step;  ///< as the task sees it
    affinity::TaskGpus own;
    std::vector<std::string> words;  ///< for `own.gpus` in its visible-devices list, or none
};

/// Which of the GPUs that it sees the task `local_id` uses.
[[nodiscard]] TaskView view_task(const Step& step, const VisibleGpus& visible, unsigned local_id);

/// Binds the task and sets RAILHEAD_CPUS, _BINDING, _MEMORY, _GPU_MAP and, where the site wants it,
/// OMP_NUM_THREADS.  What the kernel refuses is a reason in RAILHEAD_BINDING or RAILHEAD_MEMORY.
[[nodiscard]] Bound bind(const Session& session, const Step& step, const TaskView& task);

/// Takes away what a step around this one set by bind(); the user's own OMP_NUM_THREADS stays.
void clean_binding(const Session& session);

}  // namespace railhead::spank
