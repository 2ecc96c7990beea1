// RAILHEAD_GPU_MAP, as spank_railhead.so wrote it, for the processes of a launcher.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "affinity/memory.hpp"
#include "base/error.hpp"

namespace railhead::cli {

/// One GPU of the map; texts are empty where the map does not tell.
struct GpuPlace {
    std::string visible;  ///< its word in the visible-devices list of the task
    unsigned index = 0;   ///< the node's number
    std::string pci;
    std::optional<unsigned> numa;
    CpuSet cpus;
    affinity::Memory memory;  ///< without nodes: left alone
    std::string nics, path;
};

/// The GPUs of the map, in the order of local ranks.
/// Fails with `bad_input` on anything that the plugin does not write, which a number of more than
/// 32 bits or a memory node that no kernel has is, too; unknown keys are fine.
[[nodiscard]] Result<std::vector<GpuPlace>> parse_gpu_map(std::string_view json);

}  // namespace railhead::cli
