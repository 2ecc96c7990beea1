// Reads option words as sbatch does: by the rules of getopt_long().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/script.hpp"

namespace railhead::job {

/// A word of a #SBATCH line or of the command line.
struct Word {
    std::string text;
    Position where;  ///< line 0 for the command line
};

struct Scan {
    std::vector<ScriptOption> options;  ///< in the order written; "tasks-per-node" by its main name
    std::size_t used = 0;               ///< words taken: the rest begins with one that is no option
};

/// Reads options up to the first word that is none.
///
/// Long names may be shortened as long as one option begins so; short ones may stand together
/// ("-HN2").  An option that is not in the table becomes a warning and is left out.
/// Fails with `bad_input` on an ambiguous name, and on an argument that is missing or too many.
[[nodiscard]] Result<Scan> scan_options(std::span<const Word> words, ScriptOption::Source source,
                                        std::vector<Error>& warnings);

}  // namespace railhead::job
