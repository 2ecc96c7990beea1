// NCCL_TOPO_FILE against the machine that it is to describe.
#pragma once

#include <string>
#include <vector>

#include "node/node.hpp"

namespace railhead::cli {

/// What is wrong with the file at `path` for NCCL on `node`, in sentences for people; empty:
/// nothing that we know of.
[[nodiscard]] std::vector<std::string> check_topo_file(const std::string& path,
                                                       const node::Node& node);

}  // namespace railhead::cli
