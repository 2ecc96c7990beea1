#include "policy/lemons.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"

namespace railhead::policy {

namespace {

using std::chrono::sys_days;
using std::chrono::sys_seconds;

/// `digits` digits and nothing else.
std::optional<unsigned> number_of(std::string_view text, std::size_t digits) {
    const bool right = text.size() == digits && std::ranges::all_of(text, [](char c) {
                           return c >= '0' && c <= '9';
                       });
    return right ? parse_number<unsigned>(text) : std::nullopt;
}

std::optional<sys_days> parse_date(std::string_view text) {
    const auto parts = split(text, '-');
    if (parts.size() != 3) {
        return std::nullopt;
    }
    const auto year = number_of(parts[0], 4);
    const auto month = number_of(parts[1], 2);
    const auto day = number_of(parts[2], 2);
    if (!year || !month || !day) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*year)},
                                           std::chrono::month{*month}, std::chrono::day{*day}};
    return date.ok() ? std::optional{sys_days{date}} : std::nullopt;
}

std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() < 2 || parts.size() > 3) {
        return std::nullopt;
    }
    const auto hour = number_of(parts[0], 2);
    const auto minute = number_of(parts[1], 2);
    const auto second = parts.size() == 3 ? number_of(parts[2], 2) : std::optional{0U};
    if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
        return std::nullopt;
    }
    return std::chrono::hours{*hour} + std::chrono::minutes{*minute} + std::chrono::seconds{*second};
}

/// Takes the next word off `line`.
std::string_view take_word(std::string_view& line) {
    line = trim(line);
    const auto end = std::min(line.find_first_of(" \t"), line.size());
    const auto word = line.substr(0, end);
    line = trim(line.substr(end));
    return word;
}

/// `most`: how many names there is still room for.
Result<Lemon> parse_line(std::string_view line, std::size_t most, Position where) {
    const auto column = [&line](std::string_view word) {
        return static_cast<unsigned>(word.data() - line.data()) + 1;
    };
    auto rest = line;
    const auto list = take_word(rest);
    const auto until = take_word(rest);
    auto names = job::expand_hostlist(list, most);
    if (!names) {
        where.column = column(list);
        return fail(Errc::bad_input, std::move(names.error().message), std::move(where));
    }
    const auto until_s = parse_until(until);
    if (!until_s) {
        where.column = until.empty() ? static_cast<unsigned>(line.size()) : column(until);
        return fail(Errc::bad_input,
                    fmt::format("expected a time such as 2026-12-01T12:00, or \"never\", after the "
                                "nodes, not \"{}\"", printable(until)),
                    std::move(where));
    }
    return Lemon{std::move(*names), *until_s, printable(rest)};
}

}  // namespace

Lemons parse_lemons(std::string_view text, const std::string& file) {
    Lemons lemons;
    // A slip such as n[1-10000000] must not take slurmctld's memory.
    constexpr std::size_t most_names = std::size_t{1} << 17U;
    std::size_t names = 0;
    unsigned number = 0;
    for (const auto line : split(text, '\n')) {
        ++number;
        if (const auto content = trim(line); content.empty() || content.starts_with('#')) {
            continue;
        }
        auto lemon = parse_line(line, most_names - names, {file, number, 1});
        if (lemon) {
            names += lemon->nodes.size();
            lemons.entries.push_back(std::move(*lemon));
        } else {
            lemons.errors.push_back(std::move(lemon.error()));
        }
    }
    return lemons;
}

std::string format_lemons(std::span<const Lemon> entries) {
    std::string text = "# nodes  until (UTC)  reason\n";
    for (const auto& entry : entries) {
        text += fmt::format("{}  {}{}{}\n", job::compress_hostlist(entry.nodes),
                            until_text(entry.until_s), entry.reason.empty() ? "" : "  ", entry.reason);
    }
    return text;
}

std::optional<std::int64_t> parse_until(std::string_view text) {
    if (text == "never") {
        return Lemon::never;
    }
    if (text.ends_with('Z')) {
        text.remove_suffix(1);
    }
    const auto at = text.find('T');
    const auto date = parse_date(text.substr(0, at));
    const auto time = at == std::string_view::npos ? std::optional{std::chrono::seconds{0}}
                                                   : parse_time_of_day(text.substr(at + 1));
    if (!date || !time) {
        return std::nullopt;
    }
    return (sys_seconds{*date} + *time).time_since_epoch().count();
}

std::string until_text(std::int64_t until_s) {
    if (until_s == Lemon::never) {
        return "never";
    }
    const sys_seconds time{std::chrono::seconds{until_s}};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace railhead::policy
