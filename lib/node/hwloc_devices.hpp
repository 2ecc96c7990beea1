// GPUs and NICs of an hwloc topology and the ways between them, for from_hwloc.cpp.
#pragma once

#include <vector>

#include <hwloc.h>

#include "node/node.hpp"

namespace railhead::node {

/// A device of the Node and the PCI object it was made from.
template <class Device>
struct HwlocDevice {
    Device device;
    hwloc_obj_t pci = nullptr;
};

struct HwlocDevices {
    std::vector<HwlocDevice<Gpu>> gpus;
    std::vector<HwlocDevice<Nic>> nics;
};

/// The GPUs and NICs, by PCI address; `node` has its NUMA nodes already.
/// Devices whose name NCCL could not be told are left out with a warning.
[[nodiscard]] HwlocDevices find_devices(Node& node, hwloc_topology* topology);

/// How far it is from one PCI device to another.
[[nodiscard]] Path path_between(hwloc_obj_t a, hwloc_obj_t b);

}  // namespace railhead::node
