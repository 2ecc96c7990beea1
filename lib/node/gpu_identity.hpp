// Which GPUs of a Node a task's environment means.
//
// Slurm, CUDA and ROCm each have a numbering, and a cgroup renumbers CUDA's:
//
//  - CUDA numbers the devices that the process can open, in PCI order or the fastest first.
//  - SLURM_STEP_GPUS has the place in gres.conf's list.  That is PCI order with AutoDetect, and
//    the order of minor numbers with File=/dev/nvidia[0-7]; on some machines these differ.
//
// So where the devices that a task can open are known and some of the node's are hidden, they
// decide; else SLURM_STEP_GPUS, which is never renumbered and is narrowed with the task; UUIDs
// decide over numbers.  What cannot be told for certain is an error that says why, and the caller
// then leaves the task as it is: a wrong pairing is worse than none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/node.hpp"

namespace railhead::node {

/// The variables as the task sees them; unset is not the same as empty.
struct GpuEnvironment {
    std::optional<std::string> slurm_gpus{};    ///< SLURM_STEP_GPUS; SLURM_JOB_GPUS in a batch step
    std::optional<std::string> cuda_visible{};  ///< CUDA_VISIBLE_DEVICES
    std::optional<std::string> rocr_visible{};  ///< ROCR_VISIBLE_DEVICES
    std::optional<std::string> hip_visible{};  ///< HIP_VISIBLE_DEVICES: numbers among those of ROCR
    std::optional<std::string> ordinal{};      ///< GPU_DEVICE_ORDINAL, OpenCL's
    std::optional<std::string> cuda_order{};   ///< CUDA_DEVICE_ORDER
    /// The node's NVIDIA GPUs whose device file the task can open, as positions in Node::gpus,
    /// ascending; find_openable().  Unset: not known.
    std::optional<std::vector<std::size_t>> openable{};
};

/// Positions in `node.gpus`, in the order in which the task numbers its devices from 0.  Empty
/// when the environment gives it no GPU: nothing set, "", "NoDevFiles", "none", "void", "-1".
///
/// Lists may have ranges ("0-3") and blanks.  UUIDs may be cut short as CUDA allows, if only one
/// GPU fits.  A MIG device stands for its GPU where its name tells it ("MIG-GPU-<uuid>/1/0"), or
/// where the task can open one GPU only.
/// Fails with `bad_input` for a list that cannot be read, names a device twice, names more than
/// 4,096 or is longer than 64 KiB, with `not_found`
/// for a device that the node does not have, with `unsupported` for what the node cannot tell:
/// a MIG UUID among several GPUs, GPUs of two vendors, GPUs of several models without
/// CUDA_DEVICE_ORDER=PCI_BUS_ID, Slurm and CUDA naming different numbers of devices.
[[nodiscard]] Result<std::vector<std::size_t>> identify_gpus(const Node& node,
                                                             const GpuEnvironment& environment);

/// Whether a list of any of these variables gives a device: not "", "NoDevFiles", "none", "void",
/// "-1".  A list that cannot be read does: it was meant to.
[[nodiscard]] bool gives_gpu(std::string_view list);

/// The words of a visible-devices list, ranges spelt out: {"4", "5"}, or UUIDs.  Empty where it
/// gives no device or cannot be read, as identify_gpus() reads it.
[[nodiscard]] std::vector<std::string> device_words(std::string_view list);

/// The task's words for these devices, in the same order, as device_words(); empty where no list is
/// set, or HIP_VISIBLE_DEVICES puts its devices into another order.
[[nodiscard]] std::vector<std::string> visible_words(const Node& node,
                                                     const GpuEnvironment& environment);

/// The GPUs whose /dev/nvidiaN this process may open, ascending, by `devices`/nvidiaN; unset where
/// the node does not know N of each, or none can be opened.
///
/// Only asks for permission, which a device cgroup decides too; nothing is opened, since that may
/// take a GPU's driver seconds.
[[nodiscard]] std::optional<std::vector<std::size_t>> find_openable(
    const Node& node, const std::string& devices = "/dev");

}  // namespace railhead::node
