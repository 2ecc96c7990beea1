// What a checkpoint of a job cost before, told to the job at submission.
#pragma once

#include "session.hpp"

namespace railhead::spank {

/// In srun, sbatch and salloc: where the user names no cost, the one that the user's history has
/// for jobs of this name goes along as RAILHEAD_CKPT_COST, into the job's environment and to
/// slurmctld, so that all nodes reckon with the same.  Trouble with the history is no reason to
/// refuse a job: it is said with -v alone.
void send_checkpoint_cost(const Session& session);

}  // namespace railhead::spank
