// The name that a job gets, told by the command line, environment and script of who submits it.
//
// For what is to be known of a job before it is submitted: Slurm tells plugins of sbatch nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace railhead::job {

enum class Command : std::uint8_t { sbatch, salloc, srun };

struct NameSources {
    Command command = Command::sbatch;
    std::span<const std::string> arguments;  ///< behind the command's own name
    std::function<std::optional<std::string>(std::string_view variable)> environment;
    /// A script's text; nothing where it cannot be read.
    std::function<std::optional<std::string>(const std::string& path)> script;
};

/// By Slurm's precedence: -J of the command line, SBATCH_JOB_NAME (SALLOC_JOB_NAME, SLURM_JOB_NAME
/// of srun), -J of the script's #SBATCH lines, else the script's or program's file name, "wrap",
/// "sbatch" for a script from standard input, "interactive" for a shell of salloc.
///
/// Empty where the command line cannot be read: the command will refuse it.  Of a command line with
/// options that sbatch does not know, which may have values of their own, it may be wrong.
[[nodiscard]] std::string find_job_name(const NameSources& sources);

}  // namespace railhead::job
