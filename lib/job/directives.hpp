// The #SBATCH lines of a script, cut into words as sbatch cuts them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "job/option_scan.hpp"

namespace railhead::job {

/// The words of each component: a "#SBATCH hetjob" line begins the next one.
using Directives = std::vector<std::vector<Word>>;

/// Reads `text`, a whole script, named `file` in messages.
///
/// Only lines that begin with "#SBATCH" (or "#SLURM") count, and only those above the first line
/// that is neither blank nor a comment.  Words follow sbatch's quoting: quotes of both kinds, a
/// backslash keeps the next character (a blank from 24.05 on), "#" ends the line even inside a word.
/// Lines that look like directives and are none become warnings (`unsupported`).
/// Fails with `bad_input` on a file that sbatch does not take for a script (no "#!", DOS line ends,
/// NUL bytes, more than 4 MiB), on an open quote and on a word that begins with ":".
[[nodiscard]] Result<Directives> read_directives(std::string_view text, const std::string& file,
                                                 std::vector<Error>& warnings);

}  // namespace railhead::job
