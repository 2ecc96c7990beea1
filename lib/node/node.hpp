// One compute node as plain values: NUMA nodes, cores, GPUs, NICs and how far apart they are.
//
// from_hwloc.hpp and sysfs.hpp fill it from a machine, read_node.hpp from a file of any kind,
// probe.hpp runs them with a time limit; rails/ and affinity/ only ask it questions, so a test is a
// table.  Everything here is hardware identity: nothing
// depends on the CPUs or devices that one job was given, but for `allowed` and `active`.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/error.hpp"

namespace railhead::node {

struct PciAddress {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0, device = 0, function = 0;
    auto operator<=>(const PciAddress&) const = default;
};
[[nodiscard]] std::string to_string(const PciAddress& address);  ///< "0000:17:00.0"
[[nodiscard]] std::string to_string(const std::optional<PciAddress>& address);  ///< "" when unset
/// Accepts "0000:17:00.0", "17:00.0" and nvidia's eight-digit domain "00000000:17:00.0".
[[nodiscard]] Result<PciAddress> parse_pci_address(std::string_view text);

/// PCI distance class between two devices, nearest first; the order is used.  nvidia-smi's words.
enum class Path : std::uint8_t {
    pix,   ///< at most one PCIe bridge between them
    pxb,   ///< several PCIe bridges, no host bridge
    phb,   ///< through a PCIe host bridge
    node,  ///< between host bridges of one NUMA node
    sys    ///< between NUMA nodes
};
[[nodiscard]] std::string_view to_string(Path path);  ///< "PIX" … "SYS"

struct NumaNode {
    unsigned index = 0;              ///< the kernel's number
    std::optional<unsigned> socket;  ///< the package it is in, where the source says
    CpuSet cpus;                     ///< empty for a memory-only node (GPU memory of GB200)
    std::uint64_t memory_bytes = 0;
};

struct Gpu {
    /// In PCI order, from 0: NVIDIA's index with CUDA_DEVICE_ORDER=PCI_BUS_ID, and Slurm's.
    unsigned index = 0;
    std::optional<PciAddress> pci;  ///< unset where the source is a picture of paths only
    std::string vendor;  ///< "nvidia", "amd", "intel"
    std::string model;   ///< "NVIDIA H100 80GB HBM3" where the source says, else "10de:2330"
    std::string uuid;    ///< "GPU-…" where the source says
    std::optional<unsigned> minor;  ///< N of /dev/nvidiaN where the source says
    /// AMD only: ROCm's numbers for this device where the source says.  They need not follow PCI
    /// order, and a partitioned MI300 has several.
    std::vector<unsigned> rocm_indices;
    std::optional<unsigned> numa;  ///< index of the NUMA node; unset when the machine does not tell
    CpuSet cpus;                   ///< local CPUs
};

enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet, other };
[[nodiscard]] std::string_view to_string(LinkLayer layer);  ///< "InfiniBand"; sysfs's words

struct Nic {
    std::string name;  ///< RDMA device: "mlx5_0", "rdmap16s27", "bnxt_re0"
    std::vector<std::string>
        netdevs;  ///< network interfaces on the same function: "ib0", "ens1np0"
    std::optional<PciAddress> pci;     ///< unset where the source is a picture of paths only
    std::string kind;                  ///< PCI vendor and device: "15b3:1021"; "" when not known
    unsigned port = 1;                 ///< the port used: the first active one, else the first
    std::optional<double> gbit_per_s;  ///< port rate in Gbit/s, where known
    std::optional<double> pcie_gbyte_per_s;  ///< PCIe link in GB/s, where known
    LinkLayer link_layer = LinkLayer::unknown;
    std::optional<unsigned> numa;
    bool active = true;            ///< port state ACTIVE, or not known
    bool rdma = true;              ///< false: a network interface that only sockets use
    bool virtual_function = false; ///< an SR-IOV function of another NIC of this node
    std::string bond;              ///< the bonding interface that its own one is a member of
};

/// How two GPUs of a node reach each other.
struct GpuLink {
    Path path = Path::sys;  ///< over PCI
    unsigned direct = 0;    ///< NVLinks between them ("NV18" is 18), or 1 for xGMI; 0: none
};

struct Node {
    std::string source;                    ///< "live", or the file it was read from
    std::vector<NumaNode> numa;            ///< ascending by index
    std::vector<CpuSet> cores;             ///< the logical CPUs of each core, in logical order
    std::vector<Gpu> gpus;                 ///< ascending by PCI address, or as the source has them
    std::vector<Nic> nics;                 ///< RDMA devices, ascending by PCI address, then name
    std::vector<std::vector<Path>> paths;  ///< paths[gpu][nic]
    std::vector<std::vector<GpuLink>> links;  ///< links[gpu][gpu]; empty where not known
    CpuSet allowed;                        ///< CPUs that this process may use at all (cgroup)
    /// What the source lacks or contradicts, for people.  What is in doubt was not used.
    std::vector<Error> warnings;
    /// Why this source cannot tell the rails of the whole node: device names are not known, or
    /// GPUs are cut off.  Then NCCL must not be given a list.  Empty: it can.
    std::string incomplete;

    /// The position in `numa` of the NUMA node with this index, if there is one.
    [[nodiscard]] const NumaNode* find_numa(unsigned index) const;
};

}  // namespace railhead::node
