// Writing the lemons file that the placement rule reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"
#include "diagnose/lemons.hpp"

namespace railhead::cli {

/// Puts `lemons` into the file `path`, at once: a reader finds the old file or the whole new one.
/// It then belongs to whoever runs this, as root's it is what the placement rule trusts.
///
/// A file that is there is left alone, and `bad_input` says so, unless `is_update`: then the lines
/// of an earlier call are replaced and all others stay.  Fails as TrustedFolder::write() does.
[[nodiscard]] Result<void> write_lemons_file(const std::string& path,
                                             std::span<const diagnose::LemonNode> lemons,
                                             std::int64_t until_s, bool is_update);

}  // namespace railhead::cli
