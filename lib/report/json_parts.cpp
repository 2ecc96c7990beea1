#include "report/json_parts.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace railhead::report {

using json = nlohmann::ordered_json;

namespace {

std::string_view unit_name(checkpoint::Unit unit) {
    switch (unit) {
        case checkpoint::Unit::seconds:
            return "s";
        case checkpoint::Unit::per_1000_node_days:
            return "per_1000_node_days";
        case checkpoint::Unit::gpus_per_node:
            return "gpus_per_node";
        case checkpoint::Unit::bytes_per_param:
            return "bytes_per_param";
    }
    return "";
}

}  // namespace

json rounded(double value) {
    constexpr int digits = 9;
    if (value == 0 || !std::isfinite(value)) {
        return value == 0 ? json(0.0) : json(nullptr);
    }
    std::array<char, 32> text{};
    const auto* end = fmt::format_to_n(text.data(), text.size(), "{:.{}e}", value, digits - 1).out;
    std::from_chars(text.data(), end, value);
    return value;
}

json or_null(const std::optional<double>& value) {
    return value ? rounded(*value) : json(nullptr);
}

json assumption_json(const checkpoint::Assumption& assumption) {
    return {{"what", assumption.what},
            {"value", rounded(assumption.value)},
            {"unit", unit_name(assumption.unit)},
            {"source", assumption.source},
            {"guess", assumption.is_guess}};
}

std::string document_text(const json& document) {
    constexpr int indent = 2;
    return document.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
