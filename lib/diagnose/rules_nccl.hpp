// What rules on NCCL's facts look things up by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

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

}  // namespace railhead::diagnose
