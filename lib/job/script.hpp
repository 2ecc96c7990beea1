// An sbatch script and its options, read as sbatch reads them, to the JobRequest that it makes.
//
// sbatch's precedence: command line, then SBATCH_* environment, then #SBATCH lines; #SBATCH lines
// end at the first line that is neither blank nor a comment.  Where releases from 22.05 to 26.05
// differ, the newer ones are followed, and a warning tells what another one does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "job/request.hpp"

namespace railhead::job {

/// One option as it was found: where it was written and what it says.
struct ScriptOption {
    std::string name;   ///< long name without dashes: "nodes"
    std::string value;  ///< empty for a flag
    enum class Source : std::uint8_t { script, environment, command_line };
    Source source = Source::script;
    Position where;  ///< line and column for the script; line 0 elsewhere
};

/// A component of a job (a job that is not heterogeneous has one).
struct ScriptComponent {
    std::vector<ScriptOption> options;  ///< in force, after precedence, in the order they were set
    JobRequest request;                 ///< views into `storage` of the Script
};

struct Script {
    std::vector<ScriptComponent> components;
    /// `bad_input`: sbatch, or sbatch of some releases, refuses this.  `unsupported`: it takes the
    /// script, but not as the line looks.  Options that sbatch knows and Railhead has no use for
    /// are not warned of.
    std::vector<Error> warnings;
    std::shared_ptr<const std::deque<std::string>>
        storage;  ///< owns what the requests' views point at
    std::shared_ptr<const std::vector<const char*>> environment;  ///< likewise
};

/// Reads `text` (a whole script) named `file` for messages, with `arguments` as typed after
/// "sbatch", the script's name left out, and `environment` (SBATCH_*, SLURM_HINT, RAILHEAD and
/// RAILHEAD_* matter).
///
/// Components come from "#SBATCH hetjob" lines and from ":" among the arguments.  An unknown option
/// is a warning with its place: it may be a SPANK plugin's.  #PBS and #BSUB lines are not read,
/// files of node names neither; both are warned of.
/// Fails with `bad_input` and a position for what every sbatch refuses: no "#!", DOS line ends,
/// a word that is no option, a value that cannot be read, options that exclude one another.
[[nodiscard]] Result<Script> parse_script(
    std::string_view text, const std::string& file, std::span<const std::string> arguments = {},
    const std::map<std::string, std::string>& environment = {});

}  // namespace railhead::job
