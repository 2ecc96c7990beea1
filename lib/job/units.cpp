#include "job/units.hpp"

#include <limits>
#include <vector>

#include "base/text.hpp"
#include "job/request.hpp"

namespace railhead::job {

namespace {

/// The fields between colons; nothing when one is no number or there are more than `most`.
std::optional<std::vector<std::uint64_t>> parse_fields(std::string_view text, std::size_t most) {
    std::vector<std::uint64_t> fields;
    for (const auto part : split(text, ':')) {
        const auto number = parse_number<std::uint32_t>(part);
        if (!number || fields.size() == most) {
            return std::nullopt;
        }
        fields.push_back(*number);
    }
    return fields;
}

std::optional<std::uint64_t> parse_days(std::string_view days, std::string_view clock) {
    const auto number = parse_number<std::uint32_t>(days);
    auto fields = clock.empty() ? std::vector<std::uint64_t>{} : parse_fields(clock, 3);
    if (!number || !fields) {
        return std::nullopt;
    }
    fields->resize(3);
    return ((*number * std::uint64_t{24} + (*fields)[0]) * 60 + (*fields)[1]) * 60 + (*fields)[2];
}

}  // namespace

std::optional<std::uint64_t> parse_seconds(std::string_view text) {
    if (text == "-1" || equals_ignoring_case(text, "INFINITE") ||
        equals_ignoring_case(text, "UNLIMITED")) {
        return no_time_limit;
    }
    const auto dash = text.find('-');
    if (dash != std::string_view::npos) {
        return parse_days(text.substr(0, dash), text.substr(dash + 1));
    }
    const auto fields = parse_fields(text, 3);
    if (!fields) {
        return std::nullopt;
    }
    switch (fields->size()) {
        case 1:
            return (*fields)[0] * 60;
        case 2:
            return (*fields)[0] * 60 + (*fields)[1];
        default:
            return ((*fields)[0] * 60 + (*fields)[1]) * 60 + (*fields)[2];
    }
}

std::optional<std::uint32_t> parse_minutes(std::string_view text) {
    const auto seconds = parse_seconds(text);
    if (!seconds || *seconds == no_time_limit) {
        return seconds ? std::optional{unlimited} : std::nullopt;
    }
    const auto minutes = (*seconds + 59) / 60;
    if (minutes >= unlimited) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(minutes);
}

std::optional<std::uint64_t> parse_megabytes(std::string_view text) {
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_number<std::uint64_t>(text.substr(0, end));
    auto suffix = text.substr(end);
    if (suffix.size() == 2 && (suffix[1] == 'B' || suffix[1] == 'b')) {
        suffix.remove_suffix(1);
    }
    constexpr std::string_view steps = "kmgt";
    const auto step =
        suffix.size() == 1 ? steps.find(static_cast<char>(suffix[0] | 0x20)) : std::size_t{1};
    if (!number || suffix.size() > 1 || step == std::string_view::npos) {
        return std::nullopt;
    }
    if (step == 0) {
        return *number / 1024 + (*number % 1024 != 0 ? 1 : 0);
    }
    const auto factor = std::uint64_t{1} << (10 * (step - 1));
    if (*number > std::numeric_limits<std::uint64_t>::max() / factor) {
        return std::nullopt;
    }
    return *number * factor;
}

}  // namespace railhead::job
