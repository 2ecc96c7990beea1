// railhead rails --fingerprint and --compare: whether nodes have the same rails.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command.hpp"
#include "rails/fingerprint.hpp"

namespace railhead::cli {

/// Nodes from what `railhead rails --fingerprint` or `--json` wrote on them, any number in one
/// text, each line with or without a label of srun or pdsh; or one node from the XML of hwloc or
/// NCCL. Fails with the file, and the line, of what is none of these.
[[nodiscard]] Result<std::vector<rails::RailIdentity>> parse_identities(const std::string& text,
                                                                        const std::string& file);

/// Compares the nodes in these files, "-" being `in`.  Leaves Exit::findings when they differ,
/// Exit::usage when one cannot be read.
void compare_rail_files(const std::vector<std::string>& files, std::istream& in, Console& console);

}  // namespace railhead::cli
