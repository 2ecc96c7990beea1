// On a node: in slurmd once, in slurmstepd once for the step, then in each task.
//
// look_ahead() runs in slurmstepd as root and finds the facts about the node, which slurmd mostly has
// in the cache: only root may fill that.  prepare() runs there as the job's user, where an error
// would drain the node: it plans, and keeps what went wrong.  apply() runs in the task's own process between
// fork and exec, after Slurm has narrowed the task's GPUs and set its mask: there the plan is
// applied and trouble is told, and only there can it end the task.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace railhead::spank {

/// Remembers the arguments of plugstack.conf; what is wrong with them is logged.
void take_arguments(const std::vector<std::string>& arguments);

/// In slurmd, at its start: gathers the facts about the node and keeps them for the steps.
void keep_facts();

/// slurm_spank_init_post_opt
void look_ahead(const Session& session);

/// slurm_spank_user_init
void prepare(const Session& session);

/// slurm_spank_task_init; false: the task must not start (`strict`).
[[nodiscard]] bool apply(const Session& session);

}  // namespace railhead::spank
