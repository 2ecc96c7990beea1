// Runs one of Slurm's commands and takes what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::cli {

/// The standard output of `argv` (no shell; standard error is dropped), at most 16 MiB of it.
/// Fails with `not_found` when the program is not there, `unavailable` when it ends with an error
/// or not within `limit`; it is then killed.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& argv,
                                            std::chrono::milliseconds limit);

}  // namespace railhead::cli
