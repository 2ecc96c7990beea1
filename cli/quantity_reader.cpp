#include "quantity_reader.hpp"

#include <array>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/quantity.hpp"

namespace railhead::cli {

namespace {

/// How a kind of quantity is read, and how to say what it looks like.
struct Kind {
    std::optional<double> (*parse)(std::string_view);
    std::string_view expected;
};

/// 400 would be GB/s, where NICs are named by Gb/s.
std::optional<double> parse_nic_rate(std::string_view text) {
    const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
    return has_unit ? job::parse_bandwidth(text) : std::nullopt;
}

/// "40%", "40 %" and "0.4" are one share.
std::optional<double> parse_share(std::string_view text) {
    constexpr double hundred = 100;
    const bool is_percent = text.ends_with('%');
    const auto number =
        job::parse_amount(trim(is_percent ? text.substr(0, text.size() - 1) : text));
    const auto share = number && is_percent ? *number / hundred : number;
    return share && *share >= 0 && *share <= 1 ? share : std::nullopt;
}

/// In the order of Quantity.
constexpr std::array kinds{
    Kind{job::parse_duration_s,
         "is no time: expected a number with its unit, as 90s, 5m, 1.5h, 2d or 1:30:00"},
    Kind{job::parse_amount, "is no number: expected one as 70e9, 70B or 350M"},
    Kind{job::parse_bytes, "is no size: expected a number with its unit, as 912GB or 5.29TB"},
    Kind{job::parse_bandwidth, "is no bandwidth: expected GB/s, or 2TB/s, or 400Gb/s"},
    Kind{parse_nic_rate,
         "is no rate with a unit: bits or bytes? Expected one as 400Gb/s or 50GB/s"},
    Kind{parse_share, "is no share: expected one as 40% or 0.4"},
};

}  // namespace

void QuantityReader::read(std::string_view option, const std::optional<std::string>& text,
                          Quantity quantity, std::optional<double>& to) {
    if (!text || error_) {
        return;
    }
    const auto& kind = kinds[static_cast<std::size_t>(quantity)];
    to = kind.parse(*text);
    if (to) {
        return;
    }
    // Somebody who types 40 means per cent.
    const bool is_percent = quantity == Quantity::share && parse_share(*text + "%");
    refuse(option, *text,
           is_percent
               ? fmt::format("is more than all of it: for {} per cent give {}%", *text, *text)
               : std::string{kind.expected});
}

void QuantityReader::read_number(std::string_view option, const std::string& text,
                                 std::span<const std::string_view> names,
                                 std::optional<double>& to) {
    to = job::parse_amount(text);
    if (!to) {
        const auto near = nearest_name(text, names);
        refuse(option, text,
               near ? fmt::format("is no number: did you mean \"{}\"?", *near)
                    : fmt::format("is no number, and no name known: expected one of {}",
                                  fmt::join(names, ", ")));
    }
}

void QuantityReader::refuse(std::string_view option, const std::string& text,
                            std::string_view why) {
    error_ = Error{Errc::bad_input, fmt::format("{} \"{}\" {}", option, printable(text), why), {}};
}

}  // namespace railhead::cli
