// railhead.toml to Policy: all errors at once, each with line and column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "policy/policy.hpp"

namespace railhead::policy {

/// Reads the text of a policy; `file` names it in messages.  docs/man/railhead.toml.5.md is the
/// reference of the keys.
///
/// Fails with every error found: a syntax error (then it is the only one), unknown keys with
/// "did you mean", wrong types, values out of range, a partition or rule named twice.
[[nodiscard]] tl::expected<Policy, std::vector<Error>> parse_policy(std::string_view text,
                                                                    const std::string& file);

/// A time span: 300 (seconds), "90s", "10m", "2h", "1d", or Slurm's "H:MM:SS", in seconds.
[[nodiscard]] std::optional<std::uint32_t> parse_seconds(std::string_view text);

}  // namespace railhead::policy
