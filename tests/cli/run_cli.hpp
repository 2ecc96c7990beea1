// Runs a command line within the test.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "command.hpp"
#include "support/paths.hpp"

namespace railhead::test {

struct Output {
    int status = 0;
    std::string out, err;
};

inline Output railhead_run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    cli::Console console{out, err};
    const int status = cli::run(arguments, console);
    return {status, out.str(), err.str()};
}

/// Paths of the checkout come out as DATA, so that golden files are the same everywhere.
inline std::string scrubbed(std::string text) {
    const auto folder = data_file();
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
        text.replace(at, folder.size(), "DATA");
    }
    return text;
}

}  // namespace railhead::test
