// Inside of scan_checkpoints(): files that name the last complete checkpoint, as Megatron and
// DeepSpeed keep one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/folder.hpp"
#include "checkpoint/layouts.hpp"

namespace railhead::checkpoint {

struct Tracker {
    Layout layout = Layout::megatron;
    const char* file = "";    ///< its own name
    const char* prefix = "";  ///< of the folders that it may name: "iter_"
    std::string names;        ///< empty: it says nothing that can be read
    std::int64_t changed_ns = 0;
};

/// Those that are in the folder.
[[nodiscard]] std::vector<Tracker> read_trackers(const Folder& folder);

/// Judges a folder by what a tracker says of it; false: the tracker says nothing of such a one.
/// found.name becomes empty where the checkpoint is superseded, and so of no interest.
[[nodiscard]] bool judge_by_tracker(const Tracker& tracker, const std::string& name, Found& found);

/// What a tracker shows that cannot be read, or names what is not there; nothing where all is well.
[[nodiscard]] std::optional<Found> find_dangling(const Tracker& tracker, const Folder& folder);

}  // namespace railhead::checkpoint
