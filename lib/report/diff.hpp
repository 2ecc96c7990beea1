// What differs between two texts, for people and for patch(1).
#pragma once

#include <string>
#include <string_view>

namespace railhead::report {

/// A unified diff with three lines of context, lines compared as bytes; empty when the texts are
/// equal.  `before` and `after` name them in its first two lines.  Texts with thousands of
/// unequal lines are shown as one replaced by the other.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view before_text,
                                       std::string_view after, std::string_view after_text);

}  // namespace railhead::report
