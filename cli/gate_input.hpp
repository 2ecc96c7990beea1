// What `railhead gate` looks at: files, and what Slurm answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "diagnose/facts.hpp"
#include "diagnose/intake.hpp"
#include "diagnose/slurm_records.hpp"
#include "diagnose/slurm_settings.hpp"

namespace railhead::cli {

struct GateInput {
    diagnose::Facts facts;
    diagnose::SlurmRecords records;
    std::optional<diagnose::SlurmSettings> settings;
    bool has_records = false;  ///< a file has some
    std::string records_from;  ///< who was asked; empty: files
    std::string hidden_jobs;   ///< why Slurm tells this user of own jobs alone; empty: of all
};

/// Reads files of any size and kind.  Says what is wrong with one, and gives nothing, where it
/// cannot be opened; warns of those that are cut.
[[nodiscard]] std::optional<GateInput> read_gate_files(const std::vector<std::string>& files,
                                                       const diagnose::Given& given,
                                                       Console& console);

/// The time that is asked for, and of which jobs; seconds since 1970.
struct GateSpan {
    std::vector<std::string> jobs;  ///< none: the cluster
    std::optional<std::int64_t> since_s, until_s;
};

/// Asks Slurm for what no file told: settings; and jobs, events and nodes, unless a file has
/// records.  `span` is filled: of jobs their own time, of the cluster the last week.  Warns of what
/// does not answer.  Fails where accounting does not know a job.
[[nodiscard]] Result<void> ask_for_gate(GateInput& input, GateSpan& span, Console& console);

}  // namespace railhead::cli
