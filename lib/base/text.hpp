// Small text helpers that every reader of the library needs.
//
// All take and give views into the caller's text: nothing here allocates unless
// it says so.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railhead {

/// `text` without blanks, tabs and line ends at both sides.
[[nodiscard]] std::string_view trim(std::string_view text);

/// The parts between `separator`s, empty parts kept: "a,,b" is {"a", "", "b"}; "" is {""}.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// The words between runs of blanks and tabs; never an empty word.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);

/// Whether two texts are equal but for ASCII case, as Slurm compares keys.
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);

/// The whole of `text` as a decimal number; nothing when a character is left over,
/// it is empty, or it does not fit.
template <std::integral T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

/// The nearest of `names` to a mistyped `name`, for "did you mean"; nothing when none is
/// within a third of its length in edits.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view name,
                                                           std::span<const std::string_view> names);

/// "2 nodes", "1 node", "2 switches": the plural that English forms with -s or -es.
/// Words in -f ("leaf") are the caller's business.
[[nodiscard]] std::string count_of(std::uint64_t count, std::string_view singular);

/// A span of time as people write it: 90 is "90 s", 150 is "2 min 30 s", 5400 is "1 h 30 min".  From
/// ten minutes on seconds are left out, from two days on minutes.
[[nodiscard]] std::string duration_text(std::uint64_t seconds);

/// `text` with control characters (but not tab) shown as "?": text from a user or a file must
/// not move the cursor of the terminal, or start a second line of a log, that it is printed to.
[[nodiscard]] std::string printable(std::string_view text);

/// Fowler, Noll and Vo's hash FNV-1a of 64 bits (RFC 9923): stable, not secret.
[[nodiscard]] std::uint64_t fnv1a(std::string_view text);

}  // namespace railhead
