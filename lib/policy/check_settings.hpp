// What in slurm.conf and gres.conf costs training jobs speed or sleep: the findings of `railhead
// check` that are about Slurm, not about Railhead.
#pragma once

#include <vector>

#include "fabric/cluster.hpp"
#include "policy/check.hpp"

namespace railhead::policy {

/// Findings about a cluster that has GPU nodes, each with the line to write; none for another.
[[nodiscard]] std::vector<Finding> check_settings(const fabric::Cluster& cluster);

}  // namespace railhead::policy
