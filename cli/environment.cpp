#include "environment.hpp"

#include <unistd.h>

#include <cstdlib>

namespace railhead::cli {

std::optional<std::string> own_variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::map<std::string, std::string> whole_environment() {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text{*entry};
        const auto equals = text.find('=');
        variables.emplace(text.substr(0, equals),
                          equals == std::string::npos ? "" : text.substr(equals + 1));
    }
    return variables;
}

}  // namespace railhead::cli
