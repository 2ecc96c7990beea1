// The checkpoint records of jobs: this user's own, and those of files that were named.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/record.hpp"
#include "diagnose/slurm_records.hpp"

namespace railhead::cli {

/// Of these jobs; those that the user has no record of are left out.
[[nodiscard]] std::vector<checkpoint::Record> own_records(const diagnose::SlurmRecords& records);

/// Of these files, in their order.  Fails at the first that is no record, naming it.
[[nodiscard]] Result<std::vector<checkpoint::Record>> read_record_files(
    const std::vector<std::string>& files);

}  // namespace railhead::cli
