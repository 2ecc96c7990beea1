// The command `railhead`, run within the test.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "command.hpp"

namespace railhead::test {

/// What a command left behind.
struct Ran {
    int status;
    std::string out, err;
};

inline Ran run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    cli::Console console{out, err};
    const int status = cli::run(arguments, console);
    return {status, out.str(), err.str()};
}

}  // namespace railhead::test
