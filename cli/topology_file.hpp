// A topology.conf or topology.yaml that a user named.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"

namespace railhead::cli {

/// The topologies of a file: one, or those of a topology.yaml.  Where a topology.conf has switches
/// and blocks, `plugin` (TopologyPlugin of slurm.conf, or empty) says which count.
/// Fails as the readers of fabric/ do, and with `bad_input` where it is no topology.
[[nodiscard]] Result<std::vector<fabric::Fabric>> read_topology(const std::string& file,
                                                                std::string_view plugin,
                                                                std::vector<Error>& warnings);

/// The one of that name; of no name the default one, else the first.  Fails with `not_found`.
[[nodiscard]] Result<std::size_t> find_topology(std::span<const fabric::Fabric* const> fabrics,
                                                const std::string& name);

/// Prints the first of them.
void warn_of_topology(const std::vector<Error>& warnings, Console& console);

}  // namespace railhead::cli
