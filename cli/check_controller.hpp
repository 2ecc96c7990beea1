// Whether slurmctld has in force what the files say, and which nodes it drained.
#pragma once

#include <vector>

#include "policy/check.hpp"
#include "policy/load.hpp"

namespace railhead::cli {

/// Railhead reads slurm.conf and the topology by itself, so until a reconfigure it can know a
/// cluster that slurmctld does not know yet.  Slurm tells no time of its last reconfigure: the
/// contents are compared.
void check_controller(const policy::Loaded& loaded, std::vector<policy::Finding>& findings);

/// Nodes that slurmctld drained for a reason that has a remedy.
void check_drained(const policy::Loaded& loaded, std::vector<policy::Finding>& findings);

}  // namespace railhead::cli
