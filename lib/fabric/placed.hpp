// Where do the nodes of a job lie on a fabric?  A leaf for each node, of the job and of the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace railhead::fabric {

constexpr std::uint32_t no_leaf = UINT32_MAX;

struct PlacedNode {
    std::string name;
    std::uint32_t leaf = no_leaf;  ///< index into Placed::leaves; no_leaf: the topology has no such
    bool in_job = false;
};

struct Placed {
    Kind kind = Kind::none;
    std::vector<std::string> leaves;  ///< names, in the order of the topology
    std::vector<PlacedNode> nodes;    ///< all of the topology, leaf by leaf; then the job's others
    std::uint32_t span = 0;           ///< leaves, or blocks, that the job touches
    std::uint32_t least = 0;          ///< that could hold as many nodes; 0: not known
    std::uint32_t job_nodes = 0;      ///< of the job
    std::uint32_t off_fabric = 0;     ///< of them those that no leaf has
};

/// `fabric` may be null: then no node has a leaf.  A node of the job is known by its name, or by
/// what stands before the first dot of it.  The least span is that of an idle fabric of which all
/// nodes could be taken.
[[nodiscard]] Placed place_nodes(const Fabric* fabric, std::span<const std::string> job);

}  // namespace railhead::fabric
