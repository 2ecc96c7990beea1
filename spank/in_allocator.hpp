// In srun, sbatch and salloc: as the user, on a login node or in the job.
//
// Nothing is decided about hardware here.  What is wrong is refused while the person is looking,
// and what only this side can know is sent along: RAILHEAD_* to slurmctld's plugin; to the nodes,
// what the user's own NCCL file sets, so that no node reads a home directory at launch, and
// whether the user bound the tasks or their memory.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace railhead::spank {

/// Checks the arguments of plugstack.conf.  Does not return when they are wrong: a plugin that is
/// `optional` cannot refuse a command by what it returns, so the command is ended.
void check_arguments(const std::vector<std::string>& arguments);

/// Before the options are read: a job that is submitted from within a job is told nothing of the
/// outer one's checkpoints, neither by what that was told nor by what was said to it.
void forget_outer_job();

/// After the options are read: checks the variables as check_arguments() does, copies them to the
/// job's SPANK environment, and notes the rest in RAILHEAD_NCCL_CONF, RAILHEAD_CPU_BIND and
/// RAILHEAD_MEM_BIND.
void send_choice(const Session& session);

}  // namespace railhead::spank
