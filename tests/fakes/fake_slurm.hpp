// The part of slurmctld that job_submit_railhead.so calls, recording what it is told.
#pragma once

#include <string>
#include <vector>

namespace fake_slurm {

/// What was logged since the last clear(), in order; safe from several threads.
std::vector<std::string> logged();
void clear();
/// Whether a logged line holds `part`.
bool has_logged(const std::string& part);

}  // namespace fake_slurm
