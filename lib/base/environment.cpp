#include "base/environment.hpp"

#include <unistd.h>

#include <cstdlib>

namespace railhead {

std::optional<std::string> own_variable(std::string_view name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as the header says
    const char* value = std::getenv(std::string{name}.c_str());
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

}  // namespace railhead
