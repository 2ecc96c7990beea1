// What the name and the ends of a file or folder tell of a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railhead::checkpoint {

/// The number behind `prefix` where `name` is just that: "iter_0001000" with "iter_" is 1000.
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view name,
                                                        std::string_view prefix);

/// The folder that Megatron's latest_checkpointed_iteration.txt means: "iter_0001000" for "1000",
/// "release"; nothing for anything else.
[[nodiscard]] std::optional<std::string> megatron_folder(std::string_view tracker);

/// The folder that DeepSpeed's latest means: its one word; nothing for what is no plain name.
[[nodiscard]] std::optional<std::string> deepspeed_folder(std::string_view tracker);

/// The name to come of one that is being written: "a.pt" of "a.pt.tmp", "checkpoint-5" of
/// "tmp-checkpoint-5", "7" of "7.orbax-checkpoint-tmp-1699"; nothing for any other.
[[nodiscard]] std::optional<std::string> name_to_come(std::string_view name);

/// NeMo's marker beside a checkpoint that is not finished: "a-unfinished" for "a", "a.ckpt",
/// "a-EMA.ckpt" and "a.nemo" (NeMoModelCheckpoint.format_checkpoint_unfinished_marker_path).
[[nodiscard]] std::string nemo_marker(std::string_view name);
[[nodiscard]] bool is_nemo_marker(std::string_view name);

/// Whether NeMo or Lightning makes such names: "…step=100…", "…-last".
[[nodiscard]] bool has_step_name(std::string_view name);

/// Whether a file of this name holds weights: *.ckpt, *.pt, *.pth, *.safetensors and the like.
[[nodiscard]] bool is_weights_file(std::string_view name);

/// Whether a folder of this name may be a checkpoint of a framework that is not known: "1000",
/// "step-1000", "epoch_3", not "version_0".
[[nodiscard]] bool is_numbered(std::string_view name);

/// Whether it is a second copy of a checkpoint beside it: "last.ckpt", "model_best.pth.tar".
[[nodiscard]] bool is_copy_name(std::string_view name);

/// What a file's ends tell: torch.save() and numpy write zip archives, whose end of the central
/// directory comes last.
enum class Ending : std::uint8_t { whole, cut, unknown };
[[nodiscard]] Ending ending_of(std::string_view first, std::string_view last);
/// How many bytes of each end ending_of() looks at: zip's last record, without a comment.
inline constexpr std::size_t ending_size = 22;

}  // namespace railhead::checkpoint
