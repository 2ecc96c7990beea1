// What a Slurm plugin file says of itself, read from its ELF symbol table: nothing is loaded or run.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace railhead::cli {

/// The value of the plugin's `plugin_version`, SLURM_VERSION_NUMBER of the Slurm it was built for:
/// 0x160508 is 22.05.8.  Fails with `not_found` when there is no such file, `bad_input` when it is
/// not a Slurm plugin for this machine.
[[nodiscard]] Result<std::uint32_t> plugin_version(const std::string& path);

/// "22.05.8"
[[nodiscard]] std::string version_text(std::uint32_t version);

}  // namespace railhead::cli
