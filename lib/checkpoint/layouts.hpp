// Which checkpoints lie in a folder, and which of them are complete.
//
// A checkpoint is complete when its framework says so, in its own way.  What is relied on of each, as
// the releases that were read have it; what a framework may do besides is waited for:
//
//   Megatron      latest_checkpointed_iteration.txt names iter_NNNNNNN or "release": written when all
//                 ranks have saved
//   DeepSpeed     latest names the tag, global_stepN or the user's own: written by save_checkpoint()
//                 after the rank's own files
//   PyTorch DCP   .metadata with something in it: FileSystemWriter.finish() writes .metadata.tmp when
//                 all ranks have given their *.distcp, and renames it (torchtitan too)
//   HF Trainer    checkpoint-N/trainer_state.json with its last brace, behind model and optimizer; but
//                 states of random numbers may come behind it, so nothing may change for a while
//   Accelerate    random_states_0.pkl of save_state(), likewise
//   NeMo          no NAME-unfinished beside it, and metadata.json of Megatron Core in it
//   Lightning     *.ckpt, a zip archive whose last record is there; it may be moved from another
//                 file system, so its name alone tells nothing.  A folder *.ckpt as DCP; since
//                 rank 0 saves meta.pt behind .metadata, nothing may change for a while
//   Orbax         the folder's name without ".orbax-checkpoint-tmp-"; on stores that cannot rename,
//                 its commit_success.txt
//
// Any other: by a marker file, by its new name when it loses a ".tmp", else when nothing changed
// for a while.  What to wait for is the business of Watch: this looks once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/folder.hpp"

namespace railhead::checkpoint {

enum class Layout : std::uint8_t {
    megatron,
    deepspeed,
    dcp,
    huggingface,
    nemo,
    lightning,
    marked,
    plain
};
[[nodiscard]] std::string_view to_string(Layout layout);  ///< "Megatron"

enum class Verdict : std::uint8_t {
    complete,
    settling,  ///< complete once nothing changed for a few seconds
    quieting,  ///< nobody says: complete once nothing changed for long
    writing    ///< not complete, as `why` says
};

struct Found {
    std::string name;  ///< "." for the folder itself; may hold any character but "/"
    Layout layout = Layout::plain;
    Verdict verdict = Verdict::writing;
    std::string why;             ///< while it is written: what is missing
    std::string name_to_come;    ///< of one with a temporary name
    std::int64_t seal_ns = 0;    ///< the change of what says that it is complete
    std::int64_t newest_ns = 0;  ///< the newest change in it
    std::optional<std::int64_t> born_ns;
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
};

struct Scan {
    std::vector<Found> found;  ///< by name; superseded ones of Megatron and DeepSpeed are left out
    bool is_cut = false;       ///< there was more than the limits allow to look at
};

/// Whether a checkpoint is known already, as it was sealed then: its files need no look.
using IsKnown = std::function<bool(const std::string& name, std::int64_t seal_ns)>;

[[nodiscard]] Scan scan_checkpoints(const Folder& folder, const Limits& limits = {},
                                    const IsKnown& is_known = {});

}  // namespace railhead::checkpoint
