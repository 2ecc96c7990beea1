#include "job/request.hpp"

namespace railhead::job {

std::optional<std::string_view> find_variable(std::span<const char* const> environment,
                                              std::string_view name) {
    for (const auto* variable : environment) {
        const std::string_view entry{variable != nullptr ? variable : ""};
        if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
            return entry.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

}  // namespace railhead::job
