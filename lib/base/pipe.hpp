// What another process writes, read whole and in time.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace railhead {

/// All that comes from `fd` until its other end is closed.
///
/// Fails with `unavailable` when `deadline` comes first or it cannot be read, `bad_input` when it
/// is more than `most` bytes.
[[nodiscard]] Result<std::string> read_to_end(int fd,
                                              std::chrono::steady_clock::time_point deadline,
                                              std::size_t most = std::size_t{64} << 20U);

}  // namespace railhead
