// What rules on NCCL's facts look things up by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "diagnose/nccl_facts.hpp"

namespace railhead::diagnose {

/// Lines about connections that take such a path.
[[nodiscard]] inline std::uint64_t connections(const NcclLog& log, PathClass path) {
    std::uint64_t count = 0;
    for (const auto& rank : log.ranks) {
        count += rank.connections(path);
    }
    return count;
}

/// A path whose kind begins so; null where there is none.
[[nodiscard]] inline const NcclPath* path_of(const NcclLog& log, std::string_view kind) {
    const auto found = std::ranges::find_if(
        log.paths, [&](const NcclPath& path) { return path.kind.starts_with(kind); });
    return found == log.paths.end() ? nullptr : &*found;
}

/// What a variable was set to; null where it was not set.
[[nodiscard]] inline const NcclVariable* variable_of(const NcclLog& log, std::string_view name) {
    const auto found = std::ranges::find(log.variables, name, &NcclVariable::name);
    return found == log.variables.end() ? nullptr : &*found;
}

/// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]" as "mlx5_0:1/IB", "mlx5_1:1/RoCE".
[[nodiscard]] inline std::vector<std::string_view> devices_in(std::string_view list) {
    std::vector<std::string_view> devices;
    for (auto word : split_words(list)) {
        const auto close = word.find(']');
        if (!word.starts_with('[') || close == std::string_view::npos || close + 1 == word.size()) {
            continue;  // "[RO]"
        }
        devices.push_back(word.substr(close + 1));
    }
    return devices;
}

}  // namespace railhead::diagnose
