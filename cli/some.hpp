// How many nodes, GPUs or sequences an option may give: at least one.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace railhead::cli {

/// CLI11 would read -4 as a very large number.
inline const CLI::Range some{std::uint64_t{1}, std::uint64_t{100'000'000}};

}  // namespace railhead::cli
