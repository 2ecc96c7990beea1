// railhead-ckpt watch: sees a job's checkpoints come, one process a job, as the job's user.
#pragma once

#include <string>
#include <vector>

namespace railhead::helper {

/// Watches until the other end of --end-fd is closed, and gives the exit status.
///
///   --job ID --name NAME --dir DIR --interval S --cost S --restarts N --attempts N --nodes N
///   --end-fd FD [--hold] [--poll S] [--settle S] [--quiet S]
///
/// --attempts is the number of failures in a row before the job is held, --hold says that this
/// process may hold it.  Trouble is said on standard error, the job's, and ends nothing.
[[nodiscard]] int watch(const std::vector<std::string>& arguments);

}  // namespace railhead::helper
