// How a step fares on a node whose rails are down, slow or missing.
#pragma once

#include "session.hpp"
#include "step.hpp"

namespace railhead::spank {

/// In slurmstepd: looks at the rails, where the site wants it and the job did not turn rails off,
/// and keeps in `step` what is wrong.
void look_at_health(Step& step);

/// In the task: tells the user, from the first task of each node.  False: the step must not start.
[[nodiscard]] bool pass_health(const Session& session, const Step& step);

}  // namespace railhead::spank
