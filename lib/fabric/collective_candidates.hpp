// Every way in which NCCL could run a collective on a system, with what each is good for.
#pragma once

#include <vector>

#include "fabric/collective_model.hpp"

namespace railhead::fabric {

/// Those that the system has; empty for collectives that are not modelled.
[[nodiscard]] std::vector<Candidate> find_candidates(const System& system, Collective collective);

}  // namespace railhead::fabric
