// Times, sizes and shares of the models as people read them, with as many digits as mean something.
#pragma once

#include <string>

namespace railhead::report {

/// "6.3 s", "116.7 min", "28.8 h", "47.7 d", "3 years": one decimal at most, in a unit that leaves
/// two or three digits before it; "never" for what is infinite.
[[nodiscard]] std::string time_text(double seconds);

/// "912 GB", "5.29 TB": powers of 1000.
[[nodiscard]] std::string bytes_text(double bytes);

/// "5.7 GB/s".
[[nodiscard]] std::string bandwidth_text(double bytes_per_s);

/// 0.0873 is "8.73 %".
[[nodiscard]] std::string share_text(double share);

}  // namespace railhead::report
