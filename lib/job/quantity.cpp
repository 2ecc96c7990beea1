#include "job/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "base/text.hpp"
#include "job/units.hpp"

namespace railhead::job {

namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr Unit times[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1},    {"m", 60},
                          {"min", 60},  {"h", 3600},  {"d", 86400}};

constexpr Unit counts[] = {{"", 1},    {"k", 1e3}, {"K", 1e3}, {"M", 1e6},
                           {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};

constexpr Unit sizes[] = {{"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
                          {"GB", 1e9},     {"TB", 1e12},    {"PB", 1e15},    {"KiB", 0x1p10},
                          {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}};

constexpr Unit bandwidths[] = {
    {"", 1e9},         {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},    {"MiB/s", 0x1p20},
    {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}};

std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || !std::isfinite(number)) {
        return std::nullopt;
    }
    const auto name = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    const auto unit = std::ranges::find(units, name, &Unit::name);
    if (unit == units.end()) {
        return std::nullopt;
    }
    const auto value = number * unit->factor;
    return std::isfinite(value) ? std::optional{value} : std::nullopt;
}

}  // namespace

std::optional<double> parse_duration_s(std::string_view text) {
    // A minus within it, but not that of an exponent, has days before it.
    const bool has_days = text.find('-') != std::string_view::npos &&
                          text.find_first_not_of("0123456789-:") == std::string_view::npos;
    if ((has_days && !text.starts_with('-')) || text.find(':') != std::string_view::npos) {
        const auto seconds = parse_seconds(text);
        return seconds ? std::optional{static_cast<double>(*seconds)} : std::nullopt;
    }
    return parse(text, times);
}

std::optional<double> parse_amount(std::string_view text) {
    return parse(text, counts);
}

std::optional<double> parse_bytes(std::string_view text) {
    return parse(text, sizes);
}

std::optional<double> parse_bandwidth(std::string_view text) {
    return parse(text, bandwidths);
}

}  // namespace railhead::job
