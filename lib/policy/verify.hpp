// Whether an allocation is as compact as its fabric allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fabric/fabric.hpp"
#include "policy/site.hpp"

namespace railhead::policy {

/// What an allocation was made from.
struct Allocation {
    std::vector<std::string> nodes;
    std::string partition;              ///< empty: the default one
    std::vector<std::string> features;  ///< that each node had to have
    std::vector<std::string> excluded;  ///< nodes that were not to be taken
};

struct LevelSpan {
    unsigned level = 0;       ///< Slurm's: 0 is the leaves
    std::uint32_t span = 0;   ///< switches of the level, or blocks, that it touches
    std::uint32_t least = 0;  ///< minimal span of as many nodes; 0: not known
};

struct LeafShare {
    std::string name;
    std::vector<std::string> nodes;
};

struct Placement {
    std::string partition;
    fabric::Kind kind = fabric::Kind::none;  ///< none: the partition has no fabric that is known
    std::vector<std::string> nodes;
    std::vector<LevelSpan> levels;        ///< leaves first
    std::vector<LeafShare> leaves;        ///< in the order of the topology
    std::vector<std::string> off_fabric;  ///< nodes that the topology does not name

    /// Whether no level is wider than need be; nothing where that cannot be told.
    [[nodiscard]] std::optional<bool> is_minimal() const;
};

/// Compares an allocation with what the nodes of its partition could hold on an idle fabric:
/// those with its features and not excluded, and only those with GPUs where all of its nodes
/// have some.  Fails with `not_found` on a partition that slurm.conf does not have.
[[nodiscard]] Result<Placement> verify_placement(const Site& site, const Allocation& allocation);

}  // namespace railhead::policy
