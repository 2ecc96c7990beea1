// Files and jobs, read for a diagnosis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "diagnose/intake.hpp"
#include "report/diagnosis.hpp"

namespace railhead::cli {

/// The facts of `words`: files, "-" for standard input, and numbers of jobs ("12", unless there is
/// such a file).  `cut` gets those of which only a part can be read.  Nothing, with what failed on
/// the console, where a file cannot be opened or a job is not known.
[[nodiscard]] std::optional<diagnose::Facts> read_facts(const std::vector<std::string>& words,
                                                        const diagnose::Given& given,
                                                        std::vector<report::CutFile>& cut,
                                                        Console& console);

}  // namespace railhead::cli
