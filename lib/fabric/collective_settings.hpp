// What NCCL's variables would change, and when to leave them alone.
#pragma once

#include <vector>

#include "fabric/collective_question.hpp"

namespace railhead::fabric {

/// For one size; the effect of each is told against what NCCL takes by itself.
[[nodiscard]] std::vector<Setting> explain_settings(const CollectiveModel& model,
                                                    const Allowed& allowed, double bytes);

}  // namespace railhead::fabric
