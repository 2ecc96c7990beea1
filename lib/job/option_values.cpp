#include "job/option_values.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text.hpp"

namespace railhead::job {

namespace {

constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max() - 1;

/// A number that may carry K or M, as node counts may.
std::optional<std::uint32_t> parse_scaled(std::string_view text) {
    std::uint64_t factor = 1;
    text = trim(text);
    if (text.ends_with('k') || text.ends_with('K')) {
        factor = 1024;
    } else if (text.ends_with('m') || text.ends_with('M')) {
        factor = std::uint64_t{1024} * 1024;
    }
    if (factor > 1) {
        text.remove_suffix(1);
    }
    const auto number = parse_int(text);
    if (!number || *number * factor > most) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(*number * factor);
}

/// The smallest and the largest number of a list like "2,4-8" or "2-8:2".
std::optional<NodeCount> parse_node_list_count(std::string_view text) {
    NodeCount count{most, 0};
    for (const auto part : split(text.substr(0, text.find(':')), ',')) {
        for (const auto end : split(part, '-')) {
            const auto number = parse_int(end);
            if (!number) {
                return std::nullopt;
            }
            count.min = std::min(count.min, *number);
            count.max = std::max(count.max, *number);
        }
    }
    return count;
}

}  // namespace

std::optional<std::uint32_t> parse_int(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\v\f"), text.size()));
    if (text.starts_with('+')) {
        text.remove_prefix(1);
    }
    const auto number = parse_number<std::uint32_t>(text);
    return number && *number <= most ? number : std::nullopt;
}

std::optional<NodeCount> parse_node_count(std::string_view text) {
    if (text.find_first_of(",:") != std::string_view::npos) {
        return parse_node_list_count(text);
    }
    const auto dash = text.find('-');
    if (dash == std::string_view::npos) {
        const auto number = parse_scaled(text);
        return number ? std::optional{NodeCount{*number, *number}} : std::nullopt;
    }
    const auto lower = trim(text.substr(0, dash));
    const auto min = lower.empty() ? std::optional{1U} : parse_scaled(lower);
    const auto max = parse_scaled(text.substr(dash + 1));
    if (!min || !max || (*max != 0 && *max < *min)) {
        return std::nullopt;
    }
    return NodeCount{*min, *max};
}

std::optional<NodeInfo> parse_node_info(std::string_view text) {
    NodeInfo info;
    std::optional<std::uint32_t>* const fields[] = {&info.sockets, &info.cores, &info.threads};
    std::size_t i = 0;
    for (const auto part : split(text, ':')) {
        if (i == std::size(fields)) {
            break;  // sbatch reads no further
        }
        if (!part.empty() && !part.starts_with('*')) {
            const auto range = parse_node_count(part);
            if (!range) {
                return std::nullopt;
            }
            *fields[i] = range->min;
        }
        ++i;
    }
    return info;
}

bool is_signal_value(std::string_view text) {
    const auto colon = text.find(':');
    if (colon != std::string_view::npos) {
        const auto flags = text.substr(0, colon);
        if (flags.empty() || flags.find_first_not_of("RrBb") != std::string_view::npos) {
            return false;
        }
        text.remove_prefix(colon + 1);
    }
    const auto at = text.find('@');
    if (at != std::string_view::npos && !parse_number<std::uint16_t>(text.substr(at + 1))) {
        return false;
    }
    const auto signal = text.substr(0, at);
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return !signal.empty() && signal.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace railhead::job
