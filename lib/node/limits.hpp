// What a description of a node from outside may hold at most, and how devices may be called there.
//
// A few bytes of a file can stand for much memory: a line "core 65535" is a set of 8 KiB.  The
// limits are well above the largest machines, and keep what one file costs at some 100 MiB.
#pragma once

#include <cstddef>
#include <string_view>

namespace railhead::node {

constexpr std::size_t most_gpus = 256;
constexpr std::size_t most_nics = 1024;
constexpr std::size_t most_interfaces = 1024;  ///< of one NIC: switchdev has one for each function
constexpr std::size_t most_numa = 1024;        ///< the kernel's MAX_NUMNODES
constexpr std::size_t most_cores = 8192;       ///< the kernel's NR_CPUS of distributions
/// In all lists of CPUs of a node together: each CPU is in a core, in a NUMA node, allowed, and
/// near GPUs.
constexpr std::size_t most_cpus_listed = std::size_t{1} << 20U;
/// Of a file of any kind but hwloc's XML, which lists each cache and disk.
constexpr std::size_t most_text = std::size_t{4} << 20U;

/// Whether the kernel could call an RDMA device or a network interface so, and NCCL's lists and a
/// picture can hold it: 1 to 64 letters, digits, "_", "." and "-".
[[nodiscard]] bool is_device_name(std::string_view name);

}  // namespace railhead::node
