// A record in a line of an NCCL log: where it begins, who says it, and its text.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

namespace railhead::diagnose {

enum class MarkKind : std::uint8_t { info, warning, version, failure, watchdog };

/// "NCCL INFO", "NCCL WARN", "NCCL version" and the like within a line.
struct Mark {
    MarkKind kind = MarkKind::info;
    const char* begin = nullptr;
    const char* text = nullptr;  ///< behind it
};

/// The first mark in [begin, end); `begin` is null where there is none.
[[nodiscard]] Mark find_mark(const char* begin, const char* end);

/// "host:pid:tid [device] " before a mark.
struct Prefix {
    const char* begin = nullptr;  ///< of the host; null where there is no prefix
    std::string_view host;
    std::uint32_t pid = 0;
    std::int32_t device = -1;
    std::uint64_t hash = 0;   ///< of host, pid and device: who speaks
    std::string_view source;  ///< "transport/net_ib.cc:839", of a warning
};

/// The prefix that ends at `mark`, of a line that begins at `begin`.
[[nodiscard]] Prefix read_prefix(const char* begin, const char* mark);

/// The hash of a Prefix.
[[nodiscard]] std::uint64_t hash_of_speaker(std::string_view host, std::uint32_t pid,
                                            std::int32_t device);

/// A record of NCCL within a line.
struct Record {
    Mark mark;
    Prefix prefix;
};

/// The first record in [from, end); its mark has no beginning where there is none.
[[nodiscard]] Record find_record(const char* from, const char* end);

/// Seconds since 1970 of a time in `text`, as "2026-03-13 22:26:02" or with a T, by its own clock.
[[nodiscard]] std::optional<std::int64_t> find_time(std::string_view text);

// --- helpers for texts of records
// -----------------------------------------------------------------

[[nodiscard]] inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Takes `word` from the front of `text` if it stands there.
inline bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) {
        return false;
    }
    text.remove_prefix(word.size());
    return true;
}

inline void skip_blanks(std::string_view& text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
}

/// Takes a decimal number from the front; what does not fit is cut off to 64 bits.
inline std::optional<std::uint64_t> take_digits(std::string_view& text) {
    std::size_t size = 0;
    std::uint64_t value = 0;
    while (size < text.size() && is_digit(text[size])) {
        value = value * 10 + static_cast<std::uint64_t>(text[size] - '0');
        ++size;
    }
    if (size == 0) {
        return std::nullopt;
    }
    text.remove_prefix(size);
    return value;
}

/// The decimal fraction at the front of `text`: "24.0" of "24.0]".
[[nodiscard]] inline std::optional<double> real_at(std::string_view text) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    return error == std::errc{} ? std::optional{value} : std::nullopt;
}

/// The number behind `word` in `text`: number_after("rank 3 nranks 4", "rank ") is 3.
[[nodiscard]] inline std::optional<std::uint64_t> number_after(std::string_view text,
                                                               std::string_view word) {
    const auto at = text.find(word);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at + word.size());
    return take_digits(text);
}

/// The word behind `key` in `text`, up to a blank; empty where there is none.
[[nodiscard]] inline std::string_view word_after(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) {
        return {};
    }
    text.remove_prefix(at + key.size());
    return text.substr(0, text.find_first_of(" ,"));
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace railhead::diagnose
