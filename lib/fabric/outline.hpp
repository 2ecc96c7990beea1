// What an existing fabric looks like: its levels in numbers, what is not as its neighbours are, and
// a tree of it in which equal switches stand as one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"

namespace railhead::fabric {

/// The least and the most of a count.
struct Extent {
    std::uint64_t least = 0, most = 0;
};

/// All switches of a level, or the blocks, which are of level 0.
struct OutlineLevel {
    unsigned level = 0;
    std::uint32_t switches = 0;
    Extent children;  ///< of one: nodes of a leaf or block, else switches
    Extent nodes;     ///< below one
    std::optional<Extent> gpus;
};

/// A switch that has another number of children than is usual on its level.
struct Misfit {
    std::uint32_t which = 0;  ///< index into Fabric::switches or blocks
    unsigned level = 0;
    std::uint64_t children = 0, usual = 0;
    bool is_most = false;  ///< more than half of the level have the usual number
};

/// Switches or blocks beside each other that are equal in what hangs below them.
struct OutlineGroup {
    std::vector<std::uint32_t> members;  ///< indices into Fabric::switches or blocks, never none
    unsigned level = 0;
    std::uint64_t children = 0, nodes = 0;  ///< of one of them
    std::optional<std::uint64_t> gpus;
    std::vector<OutlineGroup> below;
};

struct Outline {
    std::uint64_t nodes = 0;
    std::optional<std::uint64_t> gpus;    ///< unset where slurm.conf was not read
    std::vector<OutlineLevel> levels;     ///< top first
    std::vector<Misfit> misfits;          ///< in the order of the file
    std::vector<OutlineGroup> tops;       ///< the roots, or the blocks
    std::vector<std::string> off_fabric;  ///< nodes of slurm.conf that the topology does not name
    std::vector<std::string> unknown;     ///< nodes of the topology that slurm.conf does not have
};

/// Looks at a tree or at blocks; of any other kind there are nodes alone.  `cluster` may be null.
/// What hangs below several switches is told below the first of them.
[[nodiscard]] Outline make_outline(const Fabric& fabric, const Cluster* cluster);

/// The name of a switch or block of the fabric.
[[nodiscard]] const std::string& name_of(const Fabric& fabric, std::uint32_t which);

}  // namespace railhead::fabric
