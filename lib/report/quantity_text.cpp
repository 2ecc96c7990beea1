#include "report/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/lemons.hpp"

namespace railhead::report {

namespace {

/// At most `decimals` of them, without zeros at the end.
std::string plain(double value, int decimals) {
    auto text = fmt::format("{:.{}f}", value, decimals);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        text.erase(text.find_last_not_of('.') + 1);
    }
    return text;
}

/// Three digits, but no fewer than the whole number has.
std::string three_digits(double value) {
    constexpr double ten = 10;
    constexpr double hundred = 100;
    return plain(value, value < ten ? 2 : value < hundred ? 1 : 0);
}

}  // namespace

std::string count_text(double count) {
    return three_digits(count);
}

std::string time_text(double seconds) {
    constexpr double minute = 60;
    constexpr double hour = 3600;
    constexpr double day = 86400;
    constexpr double year = 365.25 * day;
    if (!std::isfinite(seconds)) {
        return "never";
    }
    if (seconds < 1) {
        return fmt::format("{:.2g} s", seconds);
    }
    if (seconds < 2 * minute) {
        return plain(seconds, 1) + " s";
    }
    if (seconds <= 2 * hour) {
        return plain(seconds / minute, 1) + " min";
    }
    if (seconds < 3 * day) {
        return three_digits(seconds / hour) + " h";
    }
    return seconds < 2 * year ? three_digits(seconds / day) + " d"
                              : three_digits(seconds / year) + " years";
}

std::string short_time_text(double seconds) {
    constexpr double milli = 1e-3;
    constexpr double micro = 1e-6;
    constexpr double long_s = 60;
    if (seconds >= long_s) {
        return time_text(seconds);
    }
    if (seconds >= 1) {
        return three_digits(seconds) + " s";
    }
    return seconds < milli ? three_digits(seconds / micro) + " us"
                           : three_digits(seconds / milli) + " ms";
}

namespace {

using Units = std::array<std::string_view, 6>;

std::string in_units(double bytes, double step, const Units& units) {
    std::size_t unit = 0;
    while (bytes >= step && unit + 1 < units.size()) {
        bytes /= step;
        ++unit;
    }
    return fmt::format("{} {}", three_digits(bytes), units[unit]);
}

}  // namespace

std::string bytes_text(double bytes) {
    return in_units(bytes, 1000, {"B", "kB", "MB", "GB", "TB", "PB"});
}

std::string binary_bytes_text(double bytes) {
    return in_units(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string bandwidth_text(double bytes_per_s) {
    return bytes_text(bytes_per_s) + "/s";
}

std::string moment_text(std::int64_t at_s) {
    auto text = policy::until_text(at_s);
    std::ranges::replace(text, 'T', ' ');
    text.resize(text.find_last_not_of('Z') + 1);
    return text;
}

std::string share_text(double share) {
    constexpr double percent = 100;
    constexpr double least = 5e-5;  // else it would read as none
    if (share > 0 && share < least) {
        return "under 0.01 %";
    }
    return three_digits(share * percent) + " %";
}

std::string large_text(double count) {
    constexpr double step = 1000;
    constexpr std::array<std::string_view, 4> letters{"k", "M", "B", "T"};
    // What would be rounded up to 1000 of a letter is 1 of the next.
    constexpr double most = 999.5;
    if (count < most) {
        return three_digits(count);
    }
    std::size_t at = 0;
    count /= step;
    while (count >= most && at + 1 < letters.size()) {
        count /= step;
        ++at;
    }
    return fmt::format("{} {}", three_digits(count), letters[at]);
}

std::string grouped(std::uint64_t count) {
    constexpr std::size_t group = 3;
    auto text = std::to_string(count);
    for (auto at = text.size(); at > group; at -= group) {
        text.insert(at - group, ",");
    }
    return text;
}

std::string grouped_count(std::uint64_t count, std::string_view singular) {
    const auto text = count_of(count, singular);
    return grouped(count) + text.substr(text.find(' '));
}

std::string power_text(double watts) {
    return in_units(watts, 1000, {"W", "kW", "MW", "GW", "TW", "PW"});
}

std::string energy_text(double watt_hours) {
    return in_units(watt_hours, 1000, {"Wh", "kWh", "MWh", "GWh", "TWh", "PWh"});
}

}  // namespace railhead::report
