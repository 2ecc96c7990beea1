// Where a site's files are, as the commands that read them let people say.
#pragma once

#include <CLI/CLI.hpp>

#include "policy/load.hpp"

namespace railhead::cli {

/// Adds --policy, --slurm-conf and --topology; `places` has the defaults, and outlives `command`.
void add_places(CLI::App& command, policy::Places& places);

}  // namespace railhead::cli
