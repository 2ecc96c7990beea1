// Reads quantities that options were given as text: 5m, 70B, 912GB, 2TB/s.
//
// They are read when all options are there, since CLI11's errors have no place for what was meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace railhead::cli {

enum class Quantity {
    duration,  ///< seconds
    count,
    size,       ///< bytes
    bandwidth,  ///< bytes a second
    nic_rate,   ///< bytes a second, never without a unit: NICs are sold by bits
    share       ///< 0 to 1, "40%" or "0.4": a plain 40 could be either
};

/// Keeps the first text that is wrong.
class QuantityReader {
 public:
    /// Leaves `to` alone where there is no text.
    void read(std::string_view option, const std::optional<std::string>& text, Quantity quantity,
              std::optional<double>& to);

    /// A number, or the name of one of `all`, which `named` then points to.
    template <class Named>
    void read_or_name(std::string_view option, const std::optional<std::string>& text,
                      std::optional<double>& to, const Named*& named, std::span<const Named> all,
                      double (*value)(const Named&)) {
        if (!text || error_) {
            return;
        }
        std::vector<std::string_view> names;
        for (const auto& one : all) {
            names.push_back(one.name);
            if (equals_ignoring_case(one.name, *text)) {
                named = &one;
                to = value(one);
                return;
            }
        }
        read_number(option, *text, names, to);
    }

    /// What is wrong with the first text that is; its option is named.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
    void read_number(std::string_view option, const std::string& text,
                     std::span<const std::string_view> names, std::optional<double>& to);
    void refuse(std::string_view option, const std::string& text, std::string_view why);
    std::optional<Error> error_;
};

}  // namespace railhead::cli
