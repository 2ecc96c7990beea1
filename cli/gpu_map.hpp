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
/// Fails with `bad_input` on anything that the plugin does not write; unknown keys are fine.
[[nodiscard]] Result<std::vector<GpuPlace>> parse_gpu_map(std::string_view json);

/// The place of the process with this local rank.
///
/// `visible` is the process's own visible-devices list, if any.  Where the launcher has narrowed it
/// to one device, that device counts; else the rank's device of the list, else element `rank`.
/// Fails with `not_found` where neither leads to a GPU of the map.
[[nodiscard]] Result<GpuPlace> find_place(const std::vector<GpuPlace>& map,
                                          std::optional<unsigned> rank,
                                          const std::optional<std::string>& visible);

}  // namespace railhead::cli
