// Joins switches, as read one by one, to trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fabric/fabric.hpp"

namespace railhead::fabric {

/// Node references of all switches together: far above any cluster's, and what keeps a hostile
/// file from filling the memory.
constexpr std::size_t max_references = std::size_t{1} << 22U;

/// The children that one switch names.
struct ChildList {
    std::uint32_t parent = 0;  ///< index into Fabric::switches
    std::vector<std::string> names;
    Position where;
};

/// Fills in children, level and nodes of the switches above the leaves.
///
/// Fails with `bad_input` on a child that is not there, a circle, or more levels than Slurm takes.
[[nodiscard]] Result<> join_switches(Fabric& fabric, std::span<const ChildList> lists);

}  // namespace railhead::fabric
