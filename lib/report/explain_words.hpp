// Words that a review has as text and as JSON alike.  Inside of explain.
#pragma once

#include <string>
#include <string_view>

#include "policy/changes.hpp"
#include "policy/price.hpp"
#include "policy/review.hpp"

namespace railhead::report {

/// "enforce", "advice", "left": what a note is.
[[nodiscard]] std::string_view kind_word(const policy::Note& note);
/// Where the price of a wait is from.
[[nodiscard]] std::string source_text(const policy::Wait& wait);
/// "B:USR1@120", as --signal has it.
[[nodiscard]] std::string signal_text(const policy::Warning& warning);

}  // namespace railhead::report
