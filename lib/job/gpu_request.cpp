#include "job/gpu_request.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::job {

namespace {

constexpr auto most = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t max_types = 64;

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
    return b > most - a ? most : a + b;
}

/// Takes the next entry off `rest`: entries end at a comma outside parentheses, since socket lists
/// have commas of their own ("gpu:8(S:0,2),nic:2").
std::string_view take_entry(std::string_view& rest) {
    std::size_t end = 0;
    for (bool inside = false; end < rest.size() && (inside || rest[end] != ','); ++end) {
        inside = rest[end] == '(' || (inside && rest[end] != ')');
    }
    const auto entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return trim(entry);
}

/// What follows "gpu" in an entry that names GPUs; nothing for any other resource.
std::optional<std::string_view> after_gpu(std::string_view entry) {
    for (const std::string_view prefix : {"gres/", "gres:"}) {
        if (entry.starts_with(prefix)) {
            entry.remove_prefix(prefix.size());
            break;
        }
    }
    if (!entry.starts_with("gpu")) {
        return std::nullopt;
    }
    entry.remove_prefix(3);
    if (!entry.empty() && entry.front() != ':' && entry.front() != '=' && entry.front() != '(') {
        return std::nullopt;  // "gpumem:80", some other resource
    }
    return entry;
}

/// The count behind "=" (TRES form) or else behind the last ":", taken off `rest`; nothing when
/// that is no number, and `rest` is then left alone.
std::optional<std::uint64_t> take_count(std::string_view& rest) {
    const auto at = rest.find_last_of(":=");
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const auto count = parse_count(rest.substr(at + 1));
    if (count) {
        rest = rest.substr(0, at);
    }
    return count;
}

/// Reads what follows "gpu": "", ":8", "=8", ":h100", ":h100:8", ":h100=8", ":no_consume:8".
std::optional<GpuCount> parse_entry(std::string_view rest) {
    rest = rest.substr(0, rest.find('('));
    if (rest.empty()) {
        return GpuCount{{}, 1};
    }
    const auto count = take_count(rest);
    constexpr std::string_view flag = ":no_consume";
    if (rest.ends_with(flag)) {
        rest.remove_suffix(flag.size());
    }
    if (rest.empty()) {
        return count ? std::optional{GpuCount{{}, *count}} : std::nullopt;
    }
    const auto type = rest.substr(1);
    if (rest.front() != ':' || type.empty() || type.find_first_of(":=") != std::string_view::npos) {
        return std::nullopt;
    }
    // "+16", "-1" and a number too large to count with are no types: Slurm refuses most of them.
    const bool number = type.find_first_not_of("0123456789") == std::string_view::npos;
    if (type.front() == '+' || type.front() == '-' || (number && !count)) {
        return std::nullopt;
    }
    return GpuCount{type, count.value_or(1)};
}

/// Puts an entry beside those of other types; false when there are too many.
bool put(std::vector<GpuCount>& parts, const GpuCount& part, Repeated repeated) {
    const auto same = std::ranges::find(parts, part.type, &GpuCount::type);
    if (same != parts.end()) {
        same->count = repeated == Repeated::add ? add(same->count, part.count) : part.count;
        return true;
    }
    if (parts.size() < max_types) {
        parts.push_back(part);
        return true;
    }
    return false;
}

}  // namespace

std::uint64_t GpuRequest::total() const {
    std::uint64_t sum = 0;
    for (const auto& part : parts) {
        sum = add(sum, part.count);
    }
    return sum;
}

std::string_view GpuRequest::type() const {
    std::string_view type;
    for (const auto& part : parts) {
        if (part.type.empty() || (!type.empty() && type != part.type)) {
            return {};
        }
        type = part.type;
    }
    return type;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
    constexpr std::string_view suffixes = "kmgtp";
    unsigned shift = 0;
    if (!text.empty()) {
        const auto step = suffixes.find(static_cast<char>(text.back() | 0x20));
        if (step != std::string_view::npos) {
            shift = 10 * (static_cast<unsigned>(step) + 1);
            text.remove_suffix(1);
        }
    }
    const auto number = parse_number<std::uint64_t>(text);
    if (!number || (*number << shift) >> shift != *number) {
        return std::nullopt;
    }
    return *number << shift;
}

Result<GpuRequest> parse_gpus(std::string_view tres, Repeated repeated) {
    GpuRequest request;
    while (!tres.empty()) {
        const auto entry = take_entry(tres);
        const auto rest = after_gpu(entry);
        if (!rest) {
            continue;
        }
        const auto part = parse_entry(*rest);
        if (!part) {
            return fail(Errc::bad_input,
                        fmt::format("\"{}\" is not a GPU request like gpu:8 or gpu:h100:8",
                                    printable(entry.substr(0, 80))));
        }
        if (part->count > 0 && !put(request.parts, *part, repeated)) {
            return fail(Errc::bad_input, fmt::format("more than {} GPU types", max_types));
        }
    }
    return request;
}

}  // namespace railhead::job
