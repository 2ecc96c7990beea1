// The programs beside the tasks: the clock, one a node, and the watcher, one a job.
#pragma once

#include <string>

#include "checkpoint.hpp"
#include "session.hpp"

namespace railhead::spank {

/// slurm_spank_user_init: makes ready what `step` wants on this node, if it wants any.  `helper` is
/// railhead-ckpt; "": there is none.
void prepare_companions(const Session& session, const std::optional<CheckpointStep>& step,
                        const std::string& helper);

/// slurm_spank_task_init, in the process of each task: the node's first one starts them, by what the
/// step has been told.
void start_companions(const Session& session, const CheckpointStep& step);

/// slurm_spank_task_exit: after the last task has ended they end, too.
void finish_companions();

}  // namespace railhead::spank
