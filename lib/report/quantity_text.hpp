// Times, sizes and shares of the models as people read them, with as many digits as mean something.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace railhead::report {

/// "6.3 s", "116.7 min", "28.8 h", "47.7 d", "31.7 years": minutes up to two hours, with one
/// decimal as checkpoint intervals are told, then three digits; "never" for what is infinite.
[[nodiscard]] std::string time_text(double seconds);

/// "12.9 us", "4.25 ms", "1.51 s": three digits; from a minute on as time_text().
[[nodiscard]] std::string short_time_text(double seconds);

/// "912 GB", "5.29 TB": powers of 1000.
[[nodiscard]] std::string bytes_text(double bytes);

/// "64 KiB", "1.5 GiB": powers of 1024, three digits.
[[nodiscard]] std::string binary_bytes_text(double bytes);

/// "5.7 GB/s".
[[nodiscard]] std::string bandwidth_text(double bytes_per_s);

/// A count that is expected, so no whole number: "5.83", "432".
[[nodiscard]] std::string count_text(double count);

/// "1.17 M", "405 B", "15.6 T": three digits, and the letter of a thousand, a million and so on.
[[nodiscard]] std::string large_text(double count);

/// "1,016": a whole number as people read it.
[[nodiscard]] std::string grouped(std::uint64_t count);
/// "1,016 GPUs", "1 node": count_of() with such a count.
[[nodiscard]] std::string grouped_count(std::uint64_t count, std::string_view singular);

/// "10.2 kW", "1.31 MW".
[[nodiscard]] std::string power_text(double watts);
/// "441 MWh", "53 kWh".
[[nodiscard]] std::string energy_text(double watt_hours);

/// "2026-12-01 12:00:30" of seconds since 1970.  The zone is told elsewhere.
[[nodiscard]] std::string moment_text(std::int64_t at_s);

/// 0.0873 is "8.73 %".
[[nodiscard]] std::string share_text(double share);

}  // namespace railhead::report
