// What is wrong, or right, with a site: the lines of `railhead check`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/load.hpp"

namespace railhead::policy {

enum class Level : std::uint8_t { fine, warning, error };

struct Finding {
    std::string subject;  ///< "policy", "topology", "plugin"
    Level level = Level::fine;
    std::string text;
};

/// Policy, slurm.conf and topology, each for itself and against each other.
[[nodiscard]] std::vector<Finding> check_site(const Loaded& loaded);

}  // namespace railhead::policy
