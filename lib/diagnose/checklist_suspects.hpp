// What a slow run may suffer from, one by one, when nothing is known but its sizes.
#pragma once

#include <variant>
#include <vector>

#include "diagnose/checklist.hpp"
#include "diagnose/checklist_costs.hpp"

namespace railhead::diagnose {

/// Every suspect with its share of the step, which may be more than the run loses, or the reason
/// why it cannot be; in no order.  `alone` and `after` are not filled in, nor is `expected`
/// where the middle of what is left of the share is meant.
[[nodiscard]] std::vector<std::variant<Suspect, RuledOut>> all_suspects(
    const ChecklistQuestion& question, const RunSizes& run);

}  // namespace railhead::diagnose
