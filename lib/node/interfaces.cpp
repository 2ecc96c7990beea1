#include "node/interfaces.hpp"

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"

namespace railhead::node {

namespace {

/// The kernel prints an address as one hexadecimal number in this machine's byte order, so that
/// 10.0.0.0 is "0000000A" on x86-64 and arm64.
std::optional<std::uint32_t> parse_hex(std::string_view text) {
    constexpr int base = 16;
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty()
               ? std::optional{value}
               : std::nullopt;
}

std::string network_text(std::uint32_t address, std::uint32_t mask) {
    return fmt::format("{}.{}.{}.{}/{}", address & 0xffU, (address >> 8U) & 0xffU,
                       (address >> 16U) & 0xffU, address >> 24U, std::popcount(mask));
}

/// "Iface Destination Gateway Flags RefCnt Use Metric Mask …"
std::optional<Route> parse_route(std::string_view line) {
    constexpr std::uint32_t up = 0x1;       // RTF_UP
    constexpr std::uint32_t gateway = 0x2;  // RTF_GATEWAY
    const auto words = split_words(line);
    if (words.size() < 8) {
        return std::nullopt;
    }
    const auto address = parse_hex(words[1]);
    const auto flags = parse_hex(words[3]);
    const auto metric = parse_number<unsigned>(words[6]);
    const auto mask = parse_hex(words[7]);
    if (!address || !flags || !metric || !mask || (*flags & (up | gateway)) != up || *mask == 0) {
        return std::nullopt;
    }
    return Route{std::string{words[0]}, network_text(*address, *mask), *metric};
}

}  // namespace

std::vector<std::string> parse_interfaces(std::string_view text) {
    std::vector<std::string> names;
    for (const auto line : split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon != std::string_view::npos) {  // the two lines of the heading have none
            names.emplace_back(trim(line.substr(0, colon)));
        }
    }
    return names;
}

std::vector<Route> parse_routes(std::string_view text) {
    std::vector<Route> routes;
    for (const auto line : split(text, '\n')) {
        if (auto route = parse_route(line)) {
            routes.push_back(std::move(*route));
        }
    }
    return routes;
}

Result<Interfaces> read_interfaces(const std::string& root) {
    const auto names = read_file(root + "/proc/net/dev");
    if (!names) {
        return tl::unexpected{names.error()};
    }
    const auto routes = read_file(root + "/proc/net/route");
    if (!routes) {
        return tl::unexpected{routes.error()};
    }
    return Interfaces{parse_interfaces(*names), parse_routes(*routes)};
}

}  // namespace railhead::node
