// Which node of slurm.conf we are on.
#pragma once

#include <string>

#include "session.hpp"

namespace railhead::spank {

/// The NodeName of this node, in slurmstepd before the tasks are forked; "" when it cannot be told.
///
/// SLURMD_NODENAME does not say it yet: until a task is forked, it is unset, or that of the batch
/// script's node.  So it is the host's name where the step's list of nodes has it, else the node of
/// that list at our place.  That is wrong in a heterogeneous step, where the list is of all
/// components and the place within one: a task is to look at SLURMD_NODENAME again.
[[nodiscard]] std::string node_name(const Session& session);

}  // namespace railhead::spank
