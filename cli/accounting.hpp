// What this user can be told of jobs here: by sacct, and by the records of the user's own jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/record.hpp"
#include "diagnose/slurm_records.hpp"

namespace railhead::cli {

/// Runs one of Slurm's commands, whose times are to be `time_format` (of SLURM_TIME_FORMAT).
/// Fails as output_of() does, within a minute.
[[nodiscard]] Result<std::string> ask_slurm(const std::vector<std::string>& argv,
                                            std::string_view time_format);

/// All attempts of the jobs that `selection` (options of sacct) names.  Fails as ask_slurm().
[[nodiscard]] Result<void> ask_sacct(const std::vector<std::string>& selection,
                                     std::string_view time_format, diagnose::SlurmRecords& records);

/// The checkpoint records of these jobs that this user has.
[[nodiscard]] std::vector<checkpoint::Record> own_records(const diagnose::SlurmRecords& records);

}  // namespace railhead::cli
