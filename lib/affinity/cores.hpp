// CPUs as cores, and how a number of takers divides them.
#pragma once

#include <cstddef>
#include <vector>

#include "base/cpu_set.hpp"
#include "node/node.hpp"

namespace railhead::affinity {

/// The cores that touch `cpus`, each cut down to it, in the node's order.  A CPU that no core of
/// the node has (a node read from a table of paths knows no cores) counts as one by itself.
[[nodiscard]] std::vector<CpuSet> cores_within(const node::Node& node, const CpuSet& cpus);

/// What the turn-th of `takers` gets of these cores: an even run of them; where there are fewer
/// cores than takers, an even run of their CPUs (the threads of a core then have different takers);
/// and all of them where even the CPUs do not go round.
[[nodiscard]] CpuSet run_of(const std::vector<CpuSet>& cores, std::size_t turn, std::size_t takers);

}  // namespace railhead::affinity
