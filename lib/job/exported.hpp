// The environment that sbatch sends along with a batch job.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::job {

/// NAME=VALUE of all of `environment`, or of what `said`, the value of --export, leaves of it:
/// "ALL", "NONE", "[ALL,]NAME[=VALUE],..."; empty is ALL.  SLURM_* always go along.  The texts are
/// added to `storage`.
[[nodiscard]] std::vector<const char*> exported(
    std::string_view said, const std::map<std::string, std::string>& environment,
    std::deque<std::string>& storage);

}  // namespace railhead::job
