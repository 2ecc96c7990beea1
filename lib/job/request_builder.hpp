// Makes the options in force into the request that sbatch would submit.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/request.hpp"
#include "job/script.hpp"

namespace railhead::job {

/// Checks the value of one option, as sbatch does when it meets it, in force later or not.  Values
/// that Railhead has no use for are not looked at.
[[nodiscard]] Result<> check_option(const ScriptOption& option);

/// Drops options that others cancel, as sbatch does, and fails on those that exclude one another.
/// What only some releases refuse becomes a warning.
[[nodiscard]] Result<> settle_conflicts(std::vector<ScriptOption>& options,
                                        std::vector<Error>& warnings);

/// The request of `options`, which are in the order in which they were set.  Its views point at
/// strings added to `storage`.
[[nodiscard]] Result<JobRequest> build_request(const std::vector<ScriptOption>& options,
                                               std::deque<std::string>& storage,
                                               std::vector<Error>& warnings);

}  // namespace railhead::job
