// In which order the ranks of a job should go through its nodes: neighbours on the fabric next to
// each other, so that rings and trees of ranks cross as few switches as they can.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fabric/fabric.hpp"

namespace railhead::fabric {

/// Where a node stands: the names on the way from the top of the fabric down to its leaf.
struct Place {
    std::string node;
    std::vector<std::string> path;
    bool known = true;  ///< false: nobody says where it stands
};

/// The place of each node by the topology's files, in the order given.  Blocks stand below the
/// aggregated blocks that BlockSizes makes of neighbours.
[[nodiscard]] std::vector<Place> places_in(const Fabric& fabric,
                                           std::span<const std::string> nodes);

/// Reads lines of "node address [pattern]", as each node of a job knows them from SLURMD_NODENAME,
/// SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN; "spine.leaf1.n01 switch.switch.node" and
/// "block2.n01" are addresses.  Blank lines do not count, a line that is there twice counts once;
/// a line with a node alone is of a node that has no address.  `file` names the text.
///
/// Fails with `bad_input` and a position on a line of more words, an address that does not end
/// with its node, a pattern of another length, and a node with two addresses.
[[nodiscard]] Result<std::vector<Place>> parse_addresses(std::string_view text,
                                                         const std::string& file);

/// The nodes of one leaf next to each other, then the leaves of one switch, up to the top; what
/// comes first in `places` comes first at each step.  Nodes that are not known come last.
[[nodiscard]] std::vector<Place> rank_order(std::vector<Place> places);

}  // namespace railhead::fabric
