#include "node/hwloc_devices.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "node/hwloc_cpus.hpp"
#include "node/limits.hpp"
#include "node/sysfs.hpp"

namespace railhead::node {

namespace {

// ---- PCI devices --------------------------------------------------------------------------

using PciFacts = decltype(hwloc_obj_attr_u::pcidev);

constexpr unsigned vendor_nvidia = 0x10de;
constexpr unsigned vendor_amd = 0x1002;
constexpr unsigned vendor_intel = 0x8086;

/// "nvidia", "amd" or "intel" for a GPU that computes; "" for anything else, a BMC's screen too.
std::string_view gpu_vendor(const PciFacts& pci) {
    const unsigned base = pci.class_id >> 8U;
    const bool display = base == 0x03;      // VGA 0300, 3D 0302, other 0380 (MI50, MI250X)
    const bool accelerator = base == 0x12;  // MI300
    if (pci.vendor_id == vendor_nvidia && display) {
        return "nvidia";
    }
    if (pci.vendor_id == vendor_amd && (display || accelerator)) {
        return "amd";
    }
    if (pci.vendor_id == vendor_intel && pci.class_id == 0x0380) {  // 0300 is a desktop's graphics
        return "intel";
    }
    return "";
}

PciAddress address_of(const PciFacts& pci) {
    return {pci.domain, pci.bus, pci.dev, pci.func};
}

std::string_view info(hwloc_obj_t obj, const char* name) {
    const char* value = hwloc_obj_get_info_by_name(obj, name);
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

/// The operating system's devices on one PCI function.
std::vector<hwloc_obj_t> os_devices(hwloc_obj_t pci) {
    std::vector<hwloc_obj_t> devices;
    for (auto* child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE) {
            devices.push_back(child);
        }
    }
    return devices;
}

/// What a recording with vendor libraries knows besides: UUID, model, ROCm's numbers.
void add_vendor_facts(Gpu& gpu, hwloc_obj_t pci) {
    for (auto* const device : os_devices(pci)) {
        if (const auto model = info(device, "GPUModel"); !model.empty()) {
            gpu.model = printable(model);
        }
        for (const auto* const key : {"NVIDIAUUID", "AMDUUID"}) {
            if (const auto uuid = info(device, key); !uuid.empty()) {
                gpu.uuid = printable(uuid);
            }
        }
        const std::string_view name{device->name == nullptr ? "" : device->name};
        if (name.starts_with("rsmi")) {
            if (const auto number = parse_number<unsigned>(name.substr(4))) {
                gpu.rocm_indices.push_back(*number);
            }
        }
    }
}

Gpu to_gpu(const Node& node, hwloc_obj_t pci, hwloc_obj_t place) {
    const auto& attributes = pci->attr->pcidev;
    Gpu gpu;
    gpu.pci = address_of(attributes);
    gpu.vendor = gpu_vendor(attributes);
    gpu.model = fmt::format("{:04x}:{:04x}", attributes.vendor_id, attributes.device_id);
    gpu.numa = numa_of(node, place);
    gpu.cpus = to_cpu_set(place->cpuset);
    add_vendor_facts(gpu, pci);
    return gpu;
}

LinkLayer layer_of_class(unsigned class_id) {
    if (class_id == 0x0207 || class_id == 0x0c06) {  // mlx5 takes the class of its port type
        return LinkLayer::infiniband;
    }
    return class_id == 0x0200 ? LinkLayer::ethernet : LinkLayer::unknown;
}

/// The first port that is active, else the first.
unsigned port_of(hwloc_obj_t verbs) {
    constexpr unsigned most_ports = 8;
    for (unsigned port = 1; port <= most_ports; ++port) {
        if (info(verbs, fmt::format("Port{}State", port).c_str()) == "4") {
            return port;
        }
    }
    return 1;
}

/// libfabric's name for the device behind an interface: cxi0 for hsi0.  The driver numbers both
/// alike; an interface that was given another name keeps it here.
std::string slingshot_name(std::string_view interface) {
    const auto number =
        interface.starts_with("hsi") ? parse_number<unsigned>(interface.substr(3)) : std::nullopt;
    return number ? fmt::format("cxi{}", *number) : std::string{interface};
}

/// Port, state, rate and layer as the OpenFabrics device `verbs` says.
void add_port(Nic& nic, hwloc_obj_t verbs) {
    nic.port = port_of(verbs);
    const auto of_port = [&](const char* what) {
        return info(verbs, fmt::format("Port{}{}", nic.port, what).c_str());
    };
    nic.active = of_port("State").empty() || of_port("State") == "4";
    nic.gbit_per_s = parse_port_rate(of_port("Rate"));
    if (const auto layer = parse_link_layer(of_port("LinkLayer")); layer != LinkLayer::unknown) {
        nic.link_layer = layer;
    }
}

/// `device` is the OpenFabrics device, or Slingshot's network interface.
Nic to_nic(const Node& node, hwloc_obj_t pci, hwloc_obj_t device, hwloc_obj_t place) {
    const auto& attributes = pci->attr->pcidev;
    const std::string_view name{device->name == nullptr ? "" : device->name};
    Nic nic;
    nic.name = device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ? slingshot_name(name)
                                                                   : std::string{name};
    nic.pci = address_of(attributes);
    nic.kind = fmt::format("{:04x}:{:04x}", attributes.vendor_id, attributes.device_id);
    nic.link_layer = layer_of_class(attributes.class_id);
    nic.numa = numa_of(node, place);
    if (attributes.linkspeed > 0) {
        nic.pcie_gbyte_per_s = static_cast<double>(attributes.linkspeed);
    }
    for (auto* const other : os_devices(pci)) {
        if (other->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && other->name != nullptr &&
            is_device_name(other->name) && nic.netdevs.size() < most_interfaces) {
            nic.netdevs.emplace_back(other->name);
        }
    }
    add_port(nic, device);
    return nic;
}

/// HPE's Slingshot NICs (cxi) have no OpenFabrics device: their network interface stands for them.
bool speaks_rdma(hwloc_obj_t pci, hwloc_obj_t device) {
    constexpr unsigned vendor_cray = 0x17db;
    const auto type = device->attr->osdev.type;
    return type == HWLOC_OBJ_OSDEV_OPENFABRICS ||
           (type == HWLOC_OBJ_OSDEV_NETWORK && pci->attr->pcidev.vendor_id == vendor_cray);
}

// ---- distances ----------------------------------------------------------------------------

/// The bridges above a PCI device, nearest first; the last one is the host bridge where known.
std::vector<hwloc_obj_t> bridges_above(hwloc_obj_t pci) {
    std::vector<hwloc_obj_t> bridges;
    for (auto* up = pci->parent; up != nullptr && up->type == HWLOC_OBJ_BRIDGE; up = up->parent) {
        bridges.push_back(up);
    }
    return bridges;
}

}  // namespace

Path path_between(hwloc_obj_t a, hwloc_obj_t b) {
    const auto above_a = bridges_above(a);
    const auto above_b = bridges_above(b);
    const auto common = std::ranges::find_first_of(above_a, above_b);
    if (common == above_a.end()) {
        auto* const place_a = hwloc_get_non_io_ancestor_obj(nullptr, a);
        auto* const place_b = hwloc_get_non_io_ancestor_obj(nullptr, b);
        const bool together = place_a == place_b ||
                              hwloc_bitmap_isincluded(place_a->nodeset, place_b->nodeset) != 0 ||
                              hwloc_bitmap_isincluded(place_b->nodeset, place_a->nodeset) != 0;
        return together ? Path::node : Path::sys;
    }
    if ((*common)->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
        return Path::phb;
    }
    // One switch shows as two bridges in a row: its upstream port, which is the common one, and
    // the downstream port of each device.
    const auto steps_a = std::distance(above_a.begin(), common);
    const auto steps_b = std::distance(above_b.begin(), std::ranges::find(above_b, *common));
    return std::max(steps_a, steps_b) <= 1 ? Path::pix : Path::pxb;
}

HwlocDevices find_devices(Node& node, hwloc_topology* topology) {
    HwlocDevices found;
    const auto keep = [&](Nic nic, hwloc_obj_t pci) {
        if (is_device_name(nic.name)) {
            found.nics.push_back({std::move(nic), pci});
        } else {
            node.warnings.push_back({Errc::bad_input,
                                     fmt::format("left out the NIC at {}: '{}' is no name of an "
                                                 "RDMA device",
                                                 to_string(nic.pci), printable(nic.name)),
                                     {node.source, 0, 0}});
        }
    };
    for (hwloc_obj_t pci = nullptr; (pci = hwloc_get_next_pcidev(topology, pci)) != nullptr;) {
        auto* const place = hwloc_get_non_io_ancestor_obj(topology, pci);
        if (!gpu_vendor(pci->attr->pcidev).empty()) {
            found.gpus.push_back({to_gpu(node, pci, place), pci});
        }
        for (auto* const device : os_devices(pci)) {
            if (speaks_rdma(pci, device)) {
                keep(to_nic(node, pci, device, place), pci);
            }
        }
    }
    std::ranges::sort(found.gpus, {}, [](const auto& gpu) { return gpu.device.pci; });
    std::ranges::sort(found.nics, {},
                      [](const auto& nic) { return std::tie(nic.device.pci, nic.device.name); });
    return found;
}

}  // namespace railhead::node
