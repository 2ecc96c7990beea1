#include "report/json_number.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace railhead::report {

nlohmann::ordered_json json_number(double value) {
    constexpr int digits = 9;
    if (value == 0 || !std::isfinite(value)) {
        return value == 0 ? nlohmann::ordered_json(0.0) : nlohmann::ordered_json(nullptr);
    }
    std::array<char, 32> text{};
    const auto* end = fmt::format_to_n(text.data(), text.size(), "{:.{}e}", value, digits - 1).out;
    std::from_chars(text.data(), end, value);
    return value;
}

}  // namespace railhead::report
