// railhead ckpt status: the checkpoints that a job has written.
#pragma once

#include "command.hpp"

namespace railhead::cli {

/// Adds the subcommand to `ckpt`.
void add_ckpt_status(CLI::App& ckpt, Console& console);

}  // namespace railhead::cli
