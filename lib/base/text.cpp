#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/lower.hpp"

namespace railhead {

namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

char lower_letter(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Edits from `a` to `b`: insert, delete, replace, or swap two neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower_letter(a[i - 1]) == lower_letter(b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && lower_letter(a[i - 1]) == lower_letter(b[j - 2]) &&
                lower_letter(a[i - 2]) == lower_letter(b[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last.back();
}

}  // namespace

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    for (;;) {
        text = trim(text);
        if (text.empty()) {
            return words;
        }
        const auto end = text.find_first_of(blanks);
        words.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    }
}

std::string lower(std::string_view text) {
    std::string out{text};
    std::ranges::transform(out, out.begin(), lower_letter);
    return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return lower_letter(x) == lower_letter(y); });
}

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> names) {
    std::optional<std::string_view> best;
    std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
    for (const auto candidate : names) {
        const auto distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string count_of(std::uint64_t count, std::string_view singular) {
    const bool es = singular.ends_with('h') || singular.ends_with('s');
    return fmt::format("{} {}{}", count, singular, count == 1 ? "" : es ? "es" : "s");
}

std::string duration_text(std::uint64_t seconds) {
    const auto minutes = seconds / 60;
    if (seconds < 120 && seconds % 60 != 0) {
        return fmt::format("{} s", seconds);
    }
    if (minutes < 60) {
        return seconds % 60 == 0 || minutes >= 10
                   ? fmt::format("{} min", minutes)
                   : fmt::format("{} min {} s", minutes, seconds % 60);
    }
    if (minutes < 48 * 60) {
        return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                                 : fmt::format("{} h {} min", minutes / 60, minutes % 60);
    }
    const auto hours = minutes / 60;
    return hours % 24 == 0 ? fmt::format("{} d", hours / 24)
                           : fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string printable(std::string_view text) {
    std::string out{text};
    std::ranges::replace_if(
        out,
        [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return (byte < 0x20 && c != '\t') || byte == 0x7f;
        },
        '?');
    return out;
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3U;
    }
    return hash;
}

}  // namespace railhead
