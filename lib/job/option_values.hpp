// The values of sbatch options that are more than a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace railhead::job {

/// A decimal number as sbatch reads one: blanks and "+" in front are fine, below 2^31 - 1.
[[nodiscard]] std::optional<std::uint32_t> parse_int(std::string_view text);

struct NodeCount {
    std::uint32_t min = 0;
    std::uint32_t max = 0;  ///< 0: no limit
};
/// -N: "4", "2-8", "-8" (from 1), "1K" and "1M", and from 23.02 on lists "2,4-8" and steps "2-8:2".
[[nodiscard]] std::optional<NodeCount> parse_node_count(std::string_view text);

/// -B: sockets, cores per socket, threads per core; unset where "*" or nothing stands.
struct NodeInfo {
    std::optional<std::uint32_t> sockets, cores, threads;
};
/// "2", "2:4", "2:*:1"; of a range "2-4" the lower end counts.
[[nodiscard]] std::optional<NodeInfo> parse_node_info(std::string_view text);

/// Whether sbatch takes this for --signal: "USR1", "10@300", "B:TERM@60", "R:USR1".
[[nodiscard]] bool is_signal_value(std::string_view text);

}  // namespace railhead::job
