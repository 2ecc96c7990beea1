#include "affinity/cpu_bind.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace railhead::affinity {

bool binds_tasks(std::string_view value) {
    constexpr std::array<std::string_view, 5> silent{"", "v", "verbose", "q", "quiet"};
    return std::ranges::count(silent, value) == 0;
}

bool command_binds_tasks(std::string_view command_line) {
    const auto words = split(command_line, '\0');
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto word = words[i];
        if (!word.starts_with("--cpu-b") && !word.starts_with("--cpu_b")) {
            continue;
        }
        const auto equals = word.find('=');
        const auto value = equals != std::string_view::npos ? word.substr(equals + 1)
                           : i + 1 < words.size()           ? words[i + 1]
                                                            : std::string_view{};
        if (binds_tasks(value)) {
            return true;
        }
    }
    return false;
}

bool variables_bind_tasks(std::string_view type, std::string_view list) {
    constexpr std::array<std::string_view, 4> modes{"none", "rank", "map_", "mask_"};
    const bool has_mode = std::ranges::any_of(
        modes, [&](std::string_view mode) { return type.find(mode) != std::string_view::npos; });
    return has_mode || (!type.empty() && !list.empty());
}

}  // namespace railhead::affinity
