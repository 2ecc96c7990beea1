// Which CPUs and which NUMA node each GPU of a topo -m matrix is near, and when not to believe it.
#pragma once

#include <string>
#include <vector>

#include "node/node.hpp"
#include "node/topo_m_table.hpp"

namespace railhead::node {

/// Fills `cpus` and `numa` of each GPU and the NUMA nodes that follow from them; Node::gpus are the
/// first GPUs of the table, Node::paths and Node::links are there.  What is in doubt is left out
/// and told in Node::warnings:
///
///  - a cell that is no list of CPUs, or stands in no certain column;
///  - CPUs that differ among GPUs of one NUMA node: the paste lost characters;
///  - the same CPUs for all GPUs though some are in different NUMA nodes: they are the CPUs of the
///    job that the matrix was written in.
void add_topo_affinity(Node& node, const TopoTable& table);

}  // namespace railhead::node
