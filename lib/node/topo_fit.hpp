// Whether a topology file of NCCL's describes this machine.
//
// Virtual machines hide their PCI tree, so their providers ship a file for NCCL_TOPO_FILE.  One
// made for another size names devices that are not there, or CPUs that are not near them, and NCCL
// goes by it.
#pragma once

#include <string>
#include <vector>

#include "node/node.hpp"

namespace railhead::node {

/// Where `file` (of parse_nccl_xml()) does not fit `machine`: GPUs and NICs that only one of them
/// has, by PCI address, and GPUs whose CPUs in the file are none of those near them here.  One
/// sentence each for people; empty: it fits, as far as both tell.
///
/// NICs of the machine that the file lacks are no fault: a file need not name them.
[[nodiscard]] std::vector<std::string> find_misfits(const Node& file, const Node& machine);

}  // namespace railhead::node
