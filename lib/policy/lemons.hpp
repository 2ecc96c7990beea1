// The lemons file: nodes that gangs are to avoid for a while, each with the time until which and
// the reason why.
//
//   # nodes       until              reason
//   n[017-018]    2026-12-01T12:00Z  NIC 3 flaps
//   n200          never              GPU 5 is slow
//
// Written by hand or by a program; a line that is wrong takes nothing from the others.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::policy {

/// One line.
struct Lemon {
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    std::vector<std::string> nodes;
    std::int64_t until_s = never;  ///< seconds since 1970, UTC; from then on the line says nothing
    std::string reason;            ///< the rest of the line; may be empty
};

struct Lemons {
    std::vector<Lemon> entries;
    std::vector<Error> errors;     ///< of the lines that could not be read, with their places
};

/// Reads the text of a lemons file; `file` names it in errors.  A line is a host list, a time and
/// a reason, between blanks; "#" starts a comment at the beginning of a line only, so that a reason
/// may say "GPU #5".
[[nodiscard]] Lemons parse_lemons(std::string_view text, const std::string& file);

/// The text that parse_lemons() reads as `entries`, with a heading.
[[nodiscard]] std::string format_lemons(std::span<const Lemon> entries);

/// "2026-12-01" (its first second), "2026-12-01T12:00" or "2026-12-01T12:00:30", with a "Z" at the
/// end or without: always UTC, in seconds since 1970.  "never" is Lemon::never.
[[nodiscard]] std::optional<std::int64_t> parse_until(std::string_view text);

/// "2026-12-01T12:00:00Z", or "never".
[[nodiscard]] std::string until_text(std::int64_t until_s);

}  // namespace railhead::policy
