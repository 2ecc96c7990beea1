// What the reason that Slurm gives for a drained node means.
#pragma once

#include <optional>
#include <string_view>

namespace railhead::policy {

/// What to do about a node that slurmctld drained, by the reason that `sinfo -R` shows; nothing for
/// a reason that Slurm does not make up itself, or that is no matter of configuration.
[[nodiscard]] std::optional<std::string_view> advice_on_drain(std::string_view reason);

}  // namespace railhead::policy
