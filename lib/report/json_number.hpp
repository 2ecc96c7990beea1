// Numbers of the models in JSON.
#pragma once

#include <nlohmann/json.hpp>

namespace railhead::report {

/// Nine digits: more than any figure is good for, and the same on every machine; null for what is
/// not finite.
[[nodiscard]] nlohmann::ordered_json json_number(double value);

}  // namespace railhead::report
