#include "training/log_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <limits>
#include <system_error>

namespace railhead::training {

namespace {

constexpr std::size_t longest_bracket = 80;
constexpr int most_prefixes = 12;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

void skip_blanks(std::string_view& text) {
    const auto start = text.find_first_not_of(" \t");
    text.remove_prefix(start == std::string_view::npos ? text.size() : start);
}

/// The digits from `at` on as a number; -1 where one of them is none.
int digits(std::string_view text, std::size_t at, std::size_t count) {
    int value = 0;
    for (std::size_t i = at; i < at + count; ++i) {
        if (i >= text.size() || !is_digit(text[i])) {
            return -1;
        }
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/// "2025-06-17 16:23:09", with "T" for the blank, a fraction and a zone as they come.
std::optional<double> take_time(std::string_view& text) {
    constexpr std::size_t length = 19;
    if (text.size() < length || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
        text[16] != ':' || (text[10] != ' ' && text[10] != 'T')) {
        return std::nullopt;
    }
    const std::array<int, 6> parts{digits(text, 0, 4),  digits(text, 5, 2),  digits(text, 8, 2),
                                   digits(text, 11, 2), digits(text, 14, 2), digits(text, 17, 2)};
    if (std::ranges::find(parts, -1) != parts.end()) {
        return std::nullopt;
    }
    namespace chrono = std::chrono;
    const chrono::year_month_day day{chrono::year{parts[0]},
                                     chrono::month{static_cast<unsigned>(parts[1])},
                                     chrono::day{static_cast<unsigned>(parts[2])}};
    if (!day.ok()) {
        return std::nullopt;
    }
    double at_s = 86400.0 * static_cast<double>(chrono::sys_days{day}.time_since_epoch().count()) +
                  3600.0 * parts[3] + 60.0 * parts[4] + parts[5];
    text.remove_prefix(length);
    if (text.size() > 1 && (text[0] == '.' || text[0] == ',') && is_digit(text[1])) {
        double part = 0.1;
        for (text.remove_prefix(1); !text.empty() && is_digit(text[0]); text.remove_prefix(1)) {
            at_s += part * (text[0] - '0');
            part /= 10;
        }
    }
    if (!text.empty() && text[0] == 'Z') {
        text.remove_prefix(1);
    } else if (text.size() >= 6 && (text[0] == '+' || text[0] == '-') && text[3] == ':') {
        text.remove_prefix(6);
    }
    return at_s;
}

/// "12: " of srun --label, which sets the numbers flush right.
std::string_view take_label(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && end < 7 && is_digit(text[end])) {
        ++end;
    }
    if (end == 0 || end + 1 >= text.size() || text[end] != ':' || text[end + 1] != ' ') {
        return {};
    }
    const auto label = text.substr(0, end);
    text.remove_prefix(end + 2);
    return label;
}

bool is_rank_label(std::string_view inside) {
    for (const std::string_view name : {"default", "rank", "Rank ", "RANK "}) {
        if (inside.starts_with(name)) {
            return inside.size() > name.size() && is_digit(inside[name.size()]);
        }
    }
    return !inside.empty() &&
           std::ranges::all_of(inside, [](char c) { return is_digit(c) || c == ','; });
}

/// "[…]" with ":" or "<stdout>:" after it; false where it is content: "[batch=1/10]:".
bool take_bracket(std::string_view& text, LogLine& line) {
    const auto end = text.substr(0, longest_bracket).find(']');
    if (end == std::string_view::npos || end == 1) {
        return false;
    }
    auto inside = text.substr(1, end - 1);
    for (const std::string_view content : {"batch=", "epoch=", "Eval "}) {
        if (inside.starts_with(content)) {
            return false;
        }
    }
    text.remove_prefix(end + 1);
    if (is_rank_label(inside)) {
        line.label = inside;
    } else {
        // Of NeMo: "NeMo I 2025-01-01 12:00:00 file:12".
        inside.remove_prefix(inside.starts_with("NeMo ") && inside.size() > 7 ? 7 : 0);
        if (const auto at_s = take_time(inside)) {
            line.at_s = at_s;
        }
    }
    for (const std::string_view stream : {"<stdout>", "<stderr>", ":"}) {
        if (text.starts_with(stream)) {
            text.remove_prefix(stream.size());
        }
    }
    return true;
}

/// "(RayWorker pid=123, ip=10.0.0.1) ".
bool take_ray(std::string_view& text, LogLine& line) {
    const auto end = text.substr(0, longest_bracket).find(')');
    if (end == std::string_view::npos) {
        return false;
    }
    const auto pid = text.substr(0, end).find(" pid=");
    if (pid == std::string_view::npos) {
        return false;
    }
    line.label = text.substr(pid + 1, end - pid - 1);
    text.remove_prefix(end + 1);
    return true;
}

/// "pod/train-3 main " of kubectl, which names a pod and its container.
bool take_pod(std::string_view& text) {
    if (!text.starts_with("pod/")) {
        return false;
    }
    const auto container = text.find(' ');
    const auto end =
        container == std::string_view::npos ? container : text.find(' ', container + 1);
    if (end == std::string_view::npos || end > longest_bracket) {
        return false;
    }
    text.remove_prefix(end + 1);
    return true;
}

/// A word that loggers put before the message.
bool take_word(std::string_view& text) {
    for (const std::string_view word :
         {"- ", "root ", "INFO ", "INFO: ", "INFO:", "INFO\t", "I ", "W ", "WARNING ", "DEBUG ",
          "| INFO ", "stdout F ", "stderr F "}) {
        if (text.starts_with(word)) {
            text.remove_prefix(word.size());
            return true;
        }
    }
    return false;
}

}  // namespace

LogLine strip_prefixes(std::string_view text) {
    LogLine line;
    for (int taken = 0; taken < most_prefixes; ++taken) {
        skip_blanks(text);
        if (text.empty()) {
            break;
        }
        const char first = text.front();
        bool took = false;
        if (is_digit(first)) {
            if (const auto at_s = take_time(text)) {
                line.at_s = at_s;
                took = true;
                if (text.starts_with(" | ")) {  // collectors of logs set the message off
                    text.remove_prefix(3);
                }
            } else if (const auto label = take_label(text); !label.empty()) {
                line.label = label;
                took = true;
            }
        } else if (first == '[') {
            took = take_bracket(text, line);
        } else if (first == '(') {
            took = take_ray(text, line);
        } else {
            took = take_pod(text) || take_word(text);
        }
        if (!took) {
            break;
        }
    }
    line.text = text;
    return line;
}

void strip_escapes(std::string_view line, std::string& to) {
    constexpr char escape = '\x1b';
    to.clear();
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != escape) {
            to.push_back(line[i]);
            continue;
        }
        const char kind = i + 1 < line.size() ? line[i + 1] : '\0';
        ++i;
        if (kind == '[') {  // up to a byte from @ to ~
            for (++i; i < line.size() && !(line[i] >= '@' && line[i] <= '~'); ++i) {
            }
        } else if (kind == ']') {  // up to BEL, or ESC and a backslash
            for (++i; i < line.size() && line[i] != '\a' && line[i] != escape; ++i) {
            }
            if (i < line.size() && line[i] == escape) {
                ++i;
            }
        }
    }
}

std::optional<double> leading_number(std::string_view text, std::string_view* rest) {
    skip_blanks(text);
    double value = 0;
    auto* const end = text.data() + text.size();
    auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc::result_out_of_range) {
        value = std::numeric_limits<double>::infinity();
    } else if (read.ec != std::errc{}) {
        return std::nullopt;
    }
    std::string_view after{read.ptr, static_cast<std::size_t>(end - read.ptr)};
    // Thousands: a comma and three digits, as often as they come.
    while (after.size() >= 4 && after[0] == ',' && digits(after, 1, 3) >= 0 &&
           !(after.size() > 4 && is_digit(after[4]))) {
        value = value * 1000 + digits(after, 1, 3);
        after.remove_prefix(4);
    }
    if (rest != nullptr) {
        *rest = after;
    }
    return value;
}

}  // namespace railhead::training
