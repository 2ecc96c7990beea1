// Checkpoints at launch: what the tasks are told, and the programs beside them.
//
// Not for steps with GPUs alone: a batch script without any may start those that have some, and a
// job that says it checkpoints is believed.
#pragma once

#include "node_policy.hpp"
#include "options.hpp"
#include "session.hpp"

namespace railhead::spank {

/// In srun, before it launches the step: asks once when the job ends, and notes it for the nodes.
void note_job_end(const Session& session);

/// slurm_spank_user_init: sets the variables, and makes ready what start_companions() starts.
void prepare_checkpoints(const Session& session, const rails::PluginArguments& arguments,
                         SitePolicy& policy, bool has_gpus);

/// slurm_spank_task_init, in the process of each task.
void start_companions(const Session& session);

/// slurm_spank_task_exit: after the last task has ended they end, too.
void finish_companions(const Session& session);

}  // namespace railhead::spank
