// What `scontrol show job` prints of a job, as far as its placement depends on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::cli {

/// One job, one task of an array, or one component of a heterogeneous job.
struct JobRecord {
    std::string name;  ///< as users name it: "12", "12_3", "12+1"
    std::string state;
    std::string partition;
    std::string node_list;  ///< empty: it has no nodes
    std::string features;   ///< -C, as written
    std::string excluded;   ///< -x
};

/// Reads the records of `scontrol show job` (not -o: what a user wrote, such as the job's name,
/// could then look like a key).  Fails with `bad_input` on a text without any.
[[nodiscard]] Result<std::vector<JobRecord>> parse_job_records(std::string_view text);

/// Whether `job` names one: "12", "12_3", "12_[1-4]", "12+1".
[[nodiscard]] bool is_job_name(std::string_view job);

}  // namespace railhead::cli
