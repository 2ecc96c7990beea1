// Files of Slurm's records, and what they are asked for: what mtbf, lemons and postmortem share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "diagnose/failures.hpp"

namespace railhead::cli {

/// Reads what sacct, sacctmgr, scontrol and slurmctld's log say; "-" is standard input, .gz is read.
/// Warns of files that are none of these, and of rows that could not be read.
/// Fails where a file cannot be opened, or none of them is known.
[[nodiscard]] Result<diagnose::SlurmRecords> read_slurm_files(const std::vector<std::string>& files,
                                                              Console& console);

/// Puts a text into records, as if it were the file `name`.
void read_slurm_text(const std::string& text, const std::string& name,
                     diagnose::SlurmRecords& records);

/// What counts as a failure, as typed.
struct CountOptions {
    std::string definition = "rsc";
    std::string nodes;  ///< a host list
    std::optional<std::string> since, until;
    std::uint64_t min_gpus = 0;
};
void add_count_options(CLI::App& command, CountOptions& options);
/// Fails with `bad_input` and the option's name.
[[nodiscard]] Result<diagnose::CountQuestion> read_count_options(const CountOptions& options);

}  // namespace railhead::cli
