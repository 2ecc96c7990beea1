// The lines of plugstack.conf that are Railhead's.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::cli {

struct PlugstackLine {
    std::string demand;  ///< "optional", "required"
    std::string plugin;  ///< as written: "spank_railhead.so", or a path
    std::vector<std::string> arguments;
    Position where;
};

struct Plugstack {
    std::vector<PlugstackLine> lines;  ///< those that name spank_railhead.so
    bool includes = false;             ///< it has include lines, which were followed
    std::vector<Error> errors;         ///< files that cannot be read
};

/// Reads `file` and what it includes ("include plugstack.conf.d/*.conf").
[[nodiscard]] Plugstack read_plugstack(const std::string& file);

}  // namespace railhead::cli
