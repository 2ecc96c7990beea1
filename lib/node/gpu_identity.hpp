// Which GPUs of a Node a task's environment means.
//
// Slurm, CUDA and ROCm each have a numbering, and a cgroup renumbers CUDA's.  SLURM_STEP_GPUS is
// never renumbered and is narrowed with the task, so it decides where devices are given by number;
// UUIDs decide over numbers.  What cannot be told for certain is an error that says why, and the
// caller then leaves the task as it is: a wrong pairing is worse than none.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "node/node.hpp"

namespace railhead::node {

/// The variables as the task sees them; unset is not the same as empty.
struct GpuEnvironment {
    std::optional<std::string> slurm_gpus;    ///< SLURM_STEP_GPUS; SLURM_JOB_GPUS in a batch step
    std::optional<std::string> cuda_visible;  ///< CUDA_VISIBLE_DEVICES
    std::optional<std::string> rocr_visible;  ///< ROCR_VISIBLE_DEVICES
};

/// Positions in `node.gpus`, in the order in which the task numbers its devices from 0.  Empty
/// when the environment gives it no GPU: nothing set, "", "NoDevFiles", "none", "void", "-1".
///
/// Lists may have ranges ("0-3") and blanks.  UUIDs may be cut short as CUDA allows, if only one
/// GPU fits.  A MIG device stands for its GPU where its name tells it ("MIG-GPU-<uuid>/1/0").
/// Fails with `bad_input` for a list that cannot be read or names a device twice, with `not_found`
/// for a device that the node does not have, with `unsupported` for what the node cannot tell:
/// a MIG UUID, GPUs of two vendors, Slurm and CUDA naming different numbers of devices.
[[nodiscard]] Result<std::vector<std::size_t>> identify_gpus(const Node& node,
                                                             const GpuEnvironment& environment);

}  // namespace railhead::node
