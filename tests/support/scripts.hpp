// Short ways to read a script in a test, and to write down what came of it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/script.hpp"

namespace railhead::test {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

[[nodiscard]] inline Result<job::Script> parse_directives(const std::string& directives,
                                                          const Arguments& arguments = {},
                                                          const Environment& environment = {}) {
    return job::parse_script("#!/bin/bash\n" + directives, "job.sbatch", arguments, environment);
}

/// "nodes=2 exclusive | ntasks=4": the options in force, sorted by name, components apart.
[[nodiscard]] inline std::string options_of(const job::Script& script) {
    std::vector<std::string> components;
    for (const auto& component : script.components) {
        std::vector<std::string> options;
        for (const auto& option : component.options) {
            options.push_back(option.value.empty() ? option.name
                                                   : option.name + "=" + option.value);
        }
        std::ranges::sort(options);
        components.push_back(fmt::format("{}", fmt::join(options, " ")));
    }
    return fmt::format("{}", fmt::join(components, " | "));
}

[[nodiscard]] inline std::string warnings_of(const job::Script& script) {
    std::string text;
    for (const auto& warning : script.warnings) {
        text += to_string(warning) + "\n";
    }
    return text;
}

/// "2", "2-4", "2-", "": a node count.
[[nodiscard]] inline std::string nodes_of(const job::JobRequest& request) {
    const auto shown = [](const auto& number) {
        return number ? std::to_string(*number) : std::string{};
    };
    if (request.min_nodes == request.max_nodes) {
        return shown(request.min_nodes);
    }
    return shown(request.min_nodes) + "-" + shown(request.max_nodes);
}

}  // namespace railhead::test
