// NCCL's configuration files: which variables they set, and to what.
//
// NCCL sets every variable of its files that the environment has not, so a variable of ours in
// the environment would silently beat the site's or the user's file.  We look first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "rails/node_type.hpp"

namespace railhead::rails {

/// A file of NCCL's is a few lines; more than this is not one.
constexpr std::size_t nccl_conf_limit = std::size_t{64} << 10U;

/// What a file of NCCL's sets, in its order: "NAME=VALUE" lines; "#" starts a comment line.  A name
/// that NCCL would not find because of blanks around it counts too: somebody meant to set it.
[[nodiscard]] std::vector<Setting> parse_nccl_conf(std::string_view text);

/// What the file at `path` sets; empty when there is no such file.
/// Fails as read_file() does on anything else.
[[nodiscard]] Result<std::vector<Setting>> read_nccl_conf(const std::string& path);

}  // namespace railhead::rails
