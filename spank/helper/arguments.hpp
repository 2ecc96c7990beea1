// The command line of railhead-ckpt: "--name value" pairs, and flags without a value.
//
// The plugin writes it, so a mistake is ours: it is told and the program ends.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::helper {

class Arguments {
 public:
    /// Fails with `bad_input` on a word that is no option, an option that stands twice, and a value
    /// that is missing.  `flags` are the options without a value.
    [[nodiscard]] static Result<Arguments> parse(const std::vector<std::string>& words,
                                                 const std::vector<std::string_view>& flags = {});

    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
    /// Nothing where it is absent or no number.
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
    [[nodiscard]] bool flag(std::string_view name) const { return values_.contains(name); }

 private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace railhead::helper
