// Writing a file that a user named.
#pragma once

#include <string>

#include "base/error.hpp"

namespace railhead::cli {

/// Writes `text` to `path`, over what was there.
/// Fails with `unavailable` and why.
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace railhead::cli
