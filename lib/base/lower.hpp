// Texts whose case does not count.
#pragma once

#include <string>
#include <string_view>

namespace railhead {

/// `text` with its ASCII capitals as small letters.
[[nodiscard]] std::string lower(std::string_view text);

}  // namespace railhead
