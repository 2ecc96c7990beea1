// What a reader warned of, as one text.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::test {

/// A line a warning.
inline std::string messages(const std::vector<Error>& warnings) {
    std::string text;
    for (const auto& warning : warnings) {
        text += to_string(warning) + "\n";
    }
    return text;
}

}  // namespace railhead::test
