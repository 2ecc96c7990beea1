// How the leaves of a fabric hang together: which can share a job, which lie below one switch.
//
// Made once, when the policy loads.  Leaves are meant by their index in Fabric::leaves().
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.hpp"

namespace railhead::fabric {

/// The leaves that a job may touch together, a set for each top switch, ascending.  A top switch
/// that reaches no more than another makes no set of its own.  Blocks are one set.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> find_networks(const Fabric& fabric);

/// The leaves as one level of switches groups them.
///
/// In a tree, two leaves are in one group of level n where switches of level n and below join
/// them: so spines side by side over the same leaves make one group, and a leaf that hangs higher
/// up is a group of its own.  Of blocks, level n are Slurm's aggregated blocks of the n-th of the
/// BlockSizes above the base: runs of blocks in the order of the file, empty ones counted.
struct LevelGroups {
    unsigned level = 0;                   ///< 1 is right above the leaves
    std::vector<std::uint32_t> group_of;  ///< by leaf
    std::uint32_t groups = 0;
};

/// The levels between the leaves and the top, lowest first, that tell something: those that
/// join some leaves, and not all that can share a job.
[[nodiscard]] std::vector<LevelGroups> find_levels(const Fabric& fabric);

}  // namespace railhead::fabric
