// Runs one of Slurm's commands and takes what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead {

/// The standard output of `argv` (no shell), at most 16 MiB of it.  Fails with `not_found` when the
/// program is not there, `unavailable` when it ends with an error (the message has the start of
/// what it complained of) or not within `limit`, `bad_input` when it prints more; it is then killed.
/// Variables in `extra`, each NAME=VALUE, count before those of this process.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& argv,
                                            std::chrono::milliseconds limit,
                                            const std::vector<std::string>& extra = {});

}  // namespace railhead
