// Times, counts, sizes and bandwidths as people write them on a command line: 5m, 70B, 912GB,
// 2TB/s.
//
// Numbers may have a fraction or an exponent.  Blanks between number and unit do not count; a
// number without a unit is refused wherever it could be taken for something else.
#pragma once

#include <optional>
#include <string_view>

namespace railhead::job {

/// Seconds: "300s", "5m" or "5min", "1.5h", "2d", "100ms", "35us", or with a clock as Slurm has it:
/// "1:30:00", "90:00" (minutes), "1-12:30:00".  Nothing for anything else, for a number without a
/// unit too: Slurm takes it for minutes, most programs for seconds.
[[nodiscard]] std::optional<double> parse_duration_s(std::string_view text);

/// "70e9", "405853069312", "7B", "350M", "1.8T": k, M, B (or G) and T are powers of 1000.
[[nodiscard]] std::optional<double> parse_amount(std::string_view text);

/// Bytes: "912GB", "5.29TB", "1.5e12B"; kB, MB, GB, TB, PB are powers of 1000, KiB to PiB of 1024.
/// The unit is needed; its B too.
[[nodiscard]] std::optional<double> parse_bytes(std::string_view text);

/// Bytes a second: "5" and "5GB/s" are 5e9, "2TB/s"; "20Gb/s", with a small b, are bits: 2.5e9.
[[nodiscard]] std::optional<double> parse_bandwidth(std::string_view text);

}  // namespace railhead::job
