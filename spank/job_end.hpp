// When the job ends, asked once a job.
//
// Later releases tell it in SLURM_JOB_END_TIME.  Else srun asks, or the batch step, and what was
// answered goes along in the environment: no node asks at the start of a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "session.hpp"

namespace railhead::spank {

/// In srun, before it launches the step: where nobody knows the end, asks, and notes it in the
/// environment.
void note_job_end(const Session& session);

/// In slurmstepd: since 1970, 0 for never; nothing: unknown.  A batch step asks where it has to,
/// for at most two seconds.
[[nodiscard]] std::optional<std::int64_t> find_job_end(const Session& session);

/// The scontrol of the Slurm that this process is a program of.
[[nodiscard]] std::string own_scontrol();

}  // namespace railhead::spank
