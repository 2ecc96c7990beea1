// Nodes that fail too often, as railhead lemons shows them.
#pragma once

#include <string>

#include "diagnose/lemons.hpp"

namespace railhead::report {

[[nodiscard]] std::string lemons_text(const diagnose::LemonAnswer& answer,
                                      const diagnose::FailureCount& count);

/// Schema railhead.lemons/1.
[[nodiscard]] std::string lemons_json(const diagnose::LemonAnswer& answer,
                                      const diagnose::FailureCount& count);

}  // namespace railhead::report
