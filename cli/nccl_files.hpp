// The files that NCCL reads on this machine for this user.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "rails/environment.hpp"

namespace railhead::cli {

/// What the user's file ($NCCL_CONF_FILE, else ~/.nccl.conf) and then `site_file` set; a file that
/// cannot be read is warned of, one that is not there sets nothing.
[[nodiscard]] std::vector<rails::FileSetting> read_nccl_files(const std::string& site_file,
                                                              Console& console);

}  // namespace railhead::cli
