// What sbatch, srun and salloc work out of the GPU options before they submit.
//
// --gpus=16 --gpus-per-node=8 is two nodes, --gpus=16 --gpus-per-task=1 is sixteen tasks: the
// client fills that in, so slurmctld and its plugins see it as if the user had said it.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "job/request.hpp"

namespace railhead::job {

/// Fills in nodes and tasks that follow from the GPUs asked for.
///
/// Fails with `bad_input` on what every client refuses: counts that contradict one another,
/// GPUs with and without a type, --gpus-per-task without a number of tasks.  What only some
/// releases refuse goes to `warnings`.  The messages have no place yet.
[[nodiscard]] Result<> apply_gpu_rules(JobRequest& request, std::vector<Error>& warnings);

}  // namespace railhead::job
