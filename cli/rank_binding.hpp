// What one process of a launcher gets of its GPU's place, and how that is told.
//
// Deciding only: `railhead exec` asks the kernel first and tells it afterwards.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "affinity/binding_line.hpp"
#include "affinity/memory.hpp"
#include "base/cpu_set.hpp"
#include "base/error.hpp"
#include "gpu_map.hpp"
#include "local_rank.hpp"

namespace railhead::cli {

struct RankBinding {
    CpuSet wanted;            ///< the GPU's CPUs that are in the mask; empty: it stays
    CpuSet cpus;              ///< the mask that the process ends up with
    std::string cpus_kept;    ///< why that is the one it had; empty: it is `wanted`
    affinity::Memory memory;  ///< without nodes: left alone, and `reason` says why, if anything
};

/// The binding of a process with this mask, which may take memory from the nodes `allowed`.
[[nodiscard]] RankBinding plan_binding(const GpuPlace& place, const CpuSet& mask,
                                       const Result<affinity::MemoryNodes>& allowed);

/// Notes that the kernel did not bind the CPUs, for this reason: the mask stays, and memory too.
void keep_mask(RankBinding& binding, const CpuSet& mask, const std::string& reason);

/// Notes that the kernel did not take the memory policy.
void keep_memory(RankBinding& binding, const std::string& reason);

/// What --verbose says; `who` is "node n01 local rank 3 (LOCAL_RANK)".
[[nodiscard]] affinity::BindingLine line_of(std::string who, const GpuPlace& place,
                                            const RankBinding& binding);

/// The variables that tell of it, with the meaning that they have from the plugin.
///
/// UCX_NET_DEVICES is the plugin's where RAILHEAD_NIC beside it has the same value; any other is
/// the user's, and where there is none the plugin had a reason.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> variables_of(
    const GpuPlace& place, const RankBinding& binding, const Lookup& lookup);

}  // namespace railhead::cli
