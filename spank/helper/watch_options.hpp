// The command line of railhead-ckpt watch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::helper {

struct WatchOptions {
    std::uint32_t job = 0;
    std::string name;
    std::string folder;
    double interval_s = 0;
    double cost_s = 0;  ///< by which the interval was reckoned
    std::uint32_t restarts = 0;
    std::uint32_t attempts = 0;
    std::uint64_t nodes = 0;
    int end_fd = -1;
    bool hold = false;
    std::optional<double> poll_s;  ///< else by the file system
    double settle_s = 5, quiet_s = 60;
};

/// Fails with `bad_input` on an option that is unknown, lacks its value or has a wrong one, and
/// where --job, --dir or --end-fd is missing.
[[nodiscard]] Result<WatchOptions> parse_watch_options(const std::vector<std::string>& arguments);

}  // namespace railhead::helper
