// The lemons file with the nodes that were found, beside what people wrote into it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "diagnose/lemons.hpp"

namespace railhead::diagnose {

/// `old`, the text of a lemons file or nothing, without the lines that an earlier call wrote, and
/// with one for each of `lemons`, in force until `until_s`.  Lines of other hands stay as they are.
[[nodiscard]] std::string lemons_list(std::string_view old, std::span<const LemonNode> lemons,
                                      std::int64_t until_s);

}  // namespace railhead::diagnose
