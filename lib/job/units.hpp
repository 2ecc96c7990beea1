// Times and sizes as Slurm writes them, on the command line and in slurm.conf alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace railhead::job {

/// A span of time in seconds: "30" (minutes), "30:15", "2:00:00", "1-12", "1-12:30", "1-12:30:15";
/// no_time_limit for "UNLIMITED", "INFINITE" and "-1"; nothing for anything else.
[[nodiscard]] std::optional<std::uint64_t> parse_seconds(std::string_view text);
constexpr std::uint64_t no_time_limit = UINT64_MAX;

/// The same in minutes, seconds rounded up; job::unlimited for no limit.
[[nodiscard]] std::optional<std::uint32_t> parse_minutes(std::string_view text);

/// A size in MiB: a plain number is that, suffixes K (rounded up), M, G, T, also "KB" and so on.
[[nodiscard]] std::optional<std::uint64_t> parse_megabytes(std::string_view text);

}  // namespace railhead::job
