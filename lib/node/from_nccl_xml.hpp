// What NCCL knows about a node, as a Node: the topology XML of NCCL and RCCL.  The only user of
// pugixml, with nccl_distances.
//
// NCCL writes it where NCCL_TOPO_DUMP_FILE says, and reads it from NCCL_TOPO_FILE, by which clouds
// tell what a virtual machine hides.  Its tree has one bridge for a whole PCIe switch, and below
// the CPUs no host bridge: what meets only there is PHB apart, and NODE does not occur.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "node/node.hpp"

namespace railhead::node {

/// Node::incomplete of a file that lists NICs by their PCI functions alone.
constexpr std::string_view nics_unnamed =
    "the XML does not name its NICs: write one with NCCL_TOPO_DUMP_FILE on the node";

/// What the NIC at this position in Node::nics is called where its source has no name: "net3".
[[nodiscard]] std::string unnamed_nic(std::size_t position);

/// The topology XML of NCCL (and RCCL: xgmi, gcn); `source` names it in the Node and in errors.
///
///  - A file written by hand for a cloud may list neither `gpu` nor `net`.  PCI functions of a
///  GPU's
///    or a NIC's class then stand for them, and the NICs are called net0, net1, … in PCI order.
///    NCCL knows none of these names, so Node::incomplete is `nics_unnamed`; add_sysfs() finds the
///    names on the machine itself.
///  - A net with port 0 is a network interface that NCCL's sockets use: Nic::rdma is false.
///  - Several nets on one PCI function keep the order of the file.
///  - A port's number in the file counts functions of the card too.  Only mlx4 devices have more
///    than one port; all others are given port 1.
///  - An nvlink that points to its own GPU (in virtual machines) tells nothing, and is not counted.
///  - Speeds are nominal Mbit/s; above 10 Tbit/s (RCCL with cxi) they are not believed.
///
/// Fails with `bad_input`, with line and column, for what is no XML, a GPU listed twice, a PCI
/// address, number, CPU mask or name that cannot be read, or more than a node can hold (32 levels,
/// limits.hpp); with `unsupported` for a graph (NCCL_GRAPH_FILE) and for PCI functions
/// without class, of which only the machine itself could tell which is a GPU.
[[nodiscard]] Result<Node> parse_nccl_xml(std::string_view xml, std::string source);

}  // namespace railhead::node
