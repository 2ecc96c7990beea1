// What the JSON of several commands is made of.  For files that write JSON alone.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "checkpoint/recommend.hpp"

namespace railhead::report {

/// Nine digits: more than any figure is good for, and the same on every machine.  Null for what is
/// not finite.
[[nodiscard]] nlohmann::ordered_json rounded(double value);

[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<double>& value);

/// What it is, value, unit, source, and whether it is a guess.
[[nodiscard]] nlohmann::ordered_json assumption_json(const checkpoint::Assumption& assumption);

/// The text of a document.  A byte that is no UTF-8 is replaced.
[[nodiscard]] std::string document_text(const nlohmann::ordered_json& document);

}  // namespace railhead::report
