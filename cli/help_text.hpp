// The help of a command, in 80 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railhead::cli {

/// Where the words about an option begin.
constexpr std::size_t help_column = 30;

/// The help that CLI11 wrote, whose words about an option begin at `help_column`, with lines longer
/// than 80 columns broken there.
[[nodiscard]] std::string fit_help(std::string_view help);

}  // namespace railhead::cli
