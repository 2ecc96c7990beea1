// The system that a question about a collective is about.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "fabric/collective_question.hpp"

namespace railhead::fabric {

/// Adds what was not given, and had to be assumed, to `assumed`.  Fails with `bad_input` where no
/// guess can stand for it: the number of GPUs, their generation, the rate of the NICs.
[[nodiscard]] Result<System> make_system(const CollectiveQuestion& question,
                                         std::vector<AssumedFigure>& assumed);

/// NVIDIA's figure for such a system, where there is one.
[[nodiscard]] std::optional<Ceiling> find_ceiling(const System& system, Collective collective);

}  // namespace railhead::fabric
