// Asks Slurm's commands about jobs, as the user who runs us: sacct and sacctmgr, scontrol.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "diagnose/slurm_records.hpp"

namespace railhead::cli {

/// What a command printed, under the name that people are told: "scontrol show job".
struct NamedText {
    std::string name, text;
};

/// What was told, as text and as records.
struct Asked {
    std::vector<NamedText> texts;
    diagnose::SlurmRecords records;
};

/// How times are told.
enum class Clock : bool {
    utc,     ///< seconds since 1970
    machine  ///< as this machine has them, to fit a log, which has no zone
};

/// What `argv` prints within a minute.  Fails as output_of().
[[nodiscard]] Result<std::string> ask_slurm(const std::vector<std::string>& argv, Clock clock);

/// What sacct says of all attempts of the jobs that `selection`, options of it, names; told as
/// "sacct --duplicates".  Fails as ask_slurm().
[[nodiscard]] Result<std::string> ask_sacct(const std::vector<std::string>& selection, Clock clock);

/// What accounting knows of the jobs, and of their nodes since the first of them started.  That it
/// knows no such job is no failure: there are no records then.
[[nodiscard]] Result<Asked> ask_accounting(const std::vector<std::string>& jobs, Clock clock);

/// What slurmctld still knows: of jobs that run, wait, or ended a few minutes ago, and of their
/// nodes.  Fails where it does not know one of the jobs, naming it.
[[nodiscard]] Result<Asked> ask_slurmctld(const std::vector<std::string>& jobs, Clock clock);

/// The nodes of all attempts, as sacctmgr and scontrol take them.
[[nodiscard]] std::string nodes_of(const diagnose::SlurmRecords& records);

}  // namespace railhead::cli
