#include "diagnose/when.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "training/log_line.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct Clock {
    int year = 0;
    unsigned month = 0, day = 0;
    double second = 0;  ///< of the day
};

std::optional<double> seconds_of(const Clock& clock) {
    const std::chrono::year_month_day date{std::chrono::year{clock.year},
                                           std::chrono::month{clock.month},
                                           std::chrono::day{clock.day}};
    if (!date.ok() || clock.year < 1970) {
        return std::nullopt;
    }
    constexpr double day_s = 86400;
    const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
    return day_s * static_cast<double>(days) + clock.second;
}

std::optional<unsigned> month_of(std::string_view word) {
    const auto* found = std::ranges::find(months, word);
    return found == months.end() ? std::nullopt
                                 : std::optional{static_cast<unsigned>(found - months.begin()) + 1};
}

/// "11:43:09", with a fraction as it comes.
std::optional<double> time_of_day(std::string_view word) {
    const auto parts = split(word, ':');
    if (parts.size() != 3) {
        return std::nullopt;
    }
    const auto hours = parse_number<unsigned>(parts[0]);
    const auto minutes = parse_number<unsigned>(parts[1]);
    const auto seconds = training::leading_number(parts[2]);
    if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || !(*seconds < 61)) {
        return std::nullopt;
    }
    return 3600.0 * *hours + 60.0 * *minutes + *seconds;
}

/// "+00:00", "+0200", "Z": seconds to take away.
double zone_of(std::string_view zone) {
    if (zone.size() < 5 || (zone[0] != '+' && zone[0] != '-')) {
        return 0;
    }
    const auto hours = parse_number<int>(zone.substr(1, 2));
    const auto minutes = parse_number<int>(zone.substr(zone.size() - 2));
    const double ahead = hours && minutes ? 3600.0 * *hours + 60.0 * *minutes : 0;
    return zone[0] == '-' ? -ahead : ahead;
}

/// "2024-08-30T11:43:09.123+00:00", a "," before the fraction as it comes.
std::optional<double> iso_time(std::string_view word) {
    constexpr std::size_t date_length = 10;
    if (word.size() < date_length + 9 || word[4] != '-' || word[7] != '-' ||
        word[date_length] != 'T') {
        return std::nullopt;
    }
    const auto year = parse_number<int>(word.substr(0, 4));
    const auto month = parse_number<unsigned>(word.substr(5, 2));
    const auto day = parse_number<unsigned>(word.substr(8, 2));
    auto rest = word.substr(date_length + 1);
    const auto zone = rest.find_first_of("+-Z");
    std::string clock{rest.substr(0, zone)};
    std::ranges::replace(clock, ',', '.');
    const auto second = time_of_day(clock);
    if (!year || !month || !day || !second) {
        return std::nullopt;
    }
    const auto at_s = seconds_of({*year, *month, *day, *second});
    const double ahead = zone == std::string_view::npos ? 0 : zone_of(rest.substr(zone));
    return at_s ? std::optional{*at_s - ahead} : std::nullopt;
}

/// What stands in brackets.
std::optional<When> bracketed(std::string_view inside) {
    When when;
    when.written = inside;
    const auto words = split_words(inside);
    if (words.size() == 1) {
        when.at_s = iso_time(words[0]);
        std::string_view rest;
        if (!when.at_s) {
            when.uptime_s = training::leading_number(words[0], &rest);
        }
        return when.at_s || (when.uptime_s && rest.empty()) ? std::optional{when} : std::nullopt;
    }
    if (words.size() != 5) {
        return std::nullopt;
    }
    const auto month = month_of(words[1]);
    const auto day = parse_number<unsigned>(words[2]);
    const auto second = time_of_day(words[3]);
    const auto year = parse_number<int>(words[4]);
    if (!month || !day || !second || !year) {
        return std::nullopt;
    }
    when.at_s = seconds_of({*year, *month, *day, *second});
    return when;
}

void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
}

/// "<4>" of /dev/kmsg, "kern  :err   : " of dmesg -x.
void skip_level(std::string_view& line) {
    skip_blanks(line);
    if (line.starts_with('<') && line.substr(0, 6).find('>') != std::string_view::npos) {
        line.remove_prefix(line.find('>') + 1);
    } else if (line.starts_with("kern ") &&
               line.substr(0, 20).find(": [") != std::string_view::npos) {
        line.remove_prefix(line.find(": [") + 2);
    }
}

}  // namespace

When take_when(std::string_view& line) {
    constexpr std::size_t longest = 40;
    skip_level(line);
    if (line.starts_with('[')) {
        const auto end = line.substr(0, longest).find(']');
        if (end != std::string_view::npos) {
            if (const auto when = bracketed(line.substr(1, end - 1))) {
                line.remove_prefix(end + 1);
                skip_blanks(line);
                return *when;
            }
        }
        return {};
    }
    When when;
    const auto word = line.substr(0, line.find(' '));
    if (const auto at_s = iso_time(word)) {
        when.at_s = at_s;
        when.written = word;
    } else if (constexpr std::size_t journal = 15; line.size() > journal &&
                                                   month_of(line.substr(0, 3)) && line[3] == ' ' &&
                                                   time_of_day(line.substr(7, 8))) {
        when.written = line.substr(0, journal);
    } else {
        return {};
    }
    line.remove_prefix(when.written.size());
    skip_blanks(line);
    return when;
}

}  // namespace railhead::diagnose
