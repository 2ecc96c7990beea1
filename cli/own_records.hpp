// The checkpoint records that this user has of jobs.
#pragma once

#include <vector>

#include "checkpoint/record.hpp"
#include "diagnose/slurm_records.hpp"

namespace railhead::cli {

/// Of these jobs; those that the user has no record of are left out.
[[nodiscard]] std::vector<checkpoint::Record> own_records(const diagnose::SlurmRecords& records);

}  // namespace railhead::cli
