// What is wrong, or right, with a site: the lines of `railhead check`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/load.hpp"

namespace railhead::policy {

enum class Level : std::uint8_t {
    fine,
    advice,  ///< nothing is wrong, but training jobs would gain
    warning,
    error
};

struct Finding {
    std::string subject;  ///< "policy", "topology", "plugin"
    Level level = Level::fine;
    std::string text;
};

/// Policy, slurm.conf, gres.conf and topology, each for itself and against each other.  `slurm`: the version
/// that is installed, as SLURM_VERSION_NUMBER has it (0x1a0505 is 26.05.5); unset when unknown.
[[nodiscard]] std::vector<Finding> check_site(const Loaded& loaded,
                                              std::optional<std::uint32_t> slurm = std::nullopt);

/// The part of check_site() that looks at the fabrics and at what is placed on them.
[[nodiscard]] std::vector<Finding> check_fabrics(const Site& site, const std::string& path,
                                                 std::optional<std::uint32_t> slurm);

/// The part of check_site() that looks at the types of nodes, against slurm.conf and each other.
[[nodiscard]] std::vector<Finding> check_node_types(const Site& site);

/// The part of check_site() that looks at whether the policy's checkpoint signal reaches anybody.
[[nodiscard]] std::vector<Finding> check_checkpoints(const Policy& policy);

/// The part of check_site() that looks at what a preempted job has for its last checkpoint.
[[nodiscard]] std::vector<Finding> check_preemption(const Site& site);

}  // namespace railhead::policy
