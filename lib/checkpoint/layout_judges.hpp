// Inside of scan_checkpoints(): whether a folder is a checkpoint, and complete, as each framework
// has it.
#pragma once

#include <string>

#include "checkpoint/folder.hpp"
#include "checkpoint/layouts.hpp"

namespace railhead::checkpoint {

/// A folder that may be a checkpoint.
struct Candidate {
    const std::string& name;
    const Folder& below;   ///< itself
    const Folder& around;  ///< the one that it lies in
};

/// Fills `found` but for sizes; false: it is no checkpoint.  Whom a tracker names is judged
/// elsewhere.
[[nodiscard]] bool judge_folder(const Candidate& it, Found& found);

/// Whether the folder's name is one for the time of writing; `found` says so.
[[nodiscard]] bool judge_temporary(const std::string& name, Found& found);

/// A single file, by its name and its ends; false: it is no checkpoint.
[[nodiscard]] bool judge_file(const Entry& entry, const Folder& around, Found& found);

}  // namespace railhead::checkpoint
