// Which GPU of its task's map is that of one process of a launcher.
//
// A pure function over the lists of devices and the local rank that the process was started with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gpu_map.hpp"
#include "local_rank.hpp"

namespace railhead::cli {

/// The lists of devices in a process's environment; unset is not the same as empty.
struct VisibleLists {
    std::optional<std::string> cuda{};  ///< CUDA_VISIBLE_DEVICES
    std::optional<std::string> rocr{};  ///< ROCR_VISIBLE_DEVICES
    std::optional<std::string> hip{};   ///< HIP_VISIBLE_DEVICES: numbers among those of ROCR
};

/// The list that shows the process no GPU: "CUDA_VISIBLE_DEVICES=-1"; nothing where none does.
[[nodiscard]] std::optional<std::string> find_empty_list(const VisibleLists& visible);

/// The place of the process with this local rank, where no list is an empty one.
///
/// Where the launcher has narrowed it to one device, that device counts and the rank does not; else
/// the rank's device of those that it sees.
/// Fails as `rank` does where that is needed, with `not_found` where a device is not one of the
/// map's or the rank is beyond them, with `bad_input` for a list that cannot be read.
[[nodiscard]] Result<GpuPlace> find_place(const std::vector<GpuPlace>& map,
                                          const Result<LocalRank>& rank,
                                          const VisibleLists& visible);

/// The first local rank of the node for which find_place() fails, if all have these lists; nothing
/// where the process was narrowed to one device, which tells nothing of the others.
[[nodiscard]] std::optional<unsigned> first_without_place(const std::vector<GpuPlace>& map,
                                                          const VisibleLists& visible);

}  // namespace railhead::cli
