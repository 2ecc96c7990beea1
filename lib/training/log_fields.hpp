// The lines about a step, format by format: pure functions of one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "training/log.hpp"

namespace railhead::training {

/// "iteration       12/ 300000"
struct Iteration {
    std::optional<std::uint64_t> number, of;
};
/// Nothing where `text` has no such words.
[[nodiscard]] Iteration find_iteration(std::string_view text);

struct Fields {
    Step step;
    LogKind kind = LogKind::megatron;  ///< or nemo, by its keys
};
/// Fields between "|", each "key: value": Megatron-LM and its children, NeMo.  Blanks in keys do
/// not count, unknown keys are passed over.
[[nodiscard]] Fields read_fields(std::string_view text);

/// Whether a line without "|" has a word by which one that says something is known: most have none.
[[nodiscard]] bool may_tell(std::string_view text);

/// Bytes: the most that was allocated, from a line of Megatron's "memory (MB) | allocated: …".
[[nodiscard]] std::optional<double> memory_of(std::string_view text);

/// tqdm's " 12%|█▎ | 120/1000 [00:10<01:15, 11.7it/s]" of training; not the bars of downloads and
/// of validation.
[[nodiscard]] std::optional<Step> read_bar(std::string_view text);

/// "step: 20  loss: 11.8  memory: 48.87GiB(51.44%)  tps: 4,376  tflops: 253.41  mfu: 25.62%"
[[nodiscard]] std::optional<Step> read_titan_line(std::string_view text);

/// "Batch 0 Loss: 11.6, Speed: 4.88 samples/sec, lr: 0.0001"
[[nodiscard]] std::optional<Step> read_speed_line(std::string_view text);

/// "{'loss': 2.3, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.1}"
[[nodiscard]] std::optional<Step> read_dict(std::string_view text);

/// The number after `key` in `text`, blanks, colons, equal signs and quotes between them passed
/// over.
[[nodiscard]] std::optional<double> number_after(std::string_view text, std::string_view key);

}  // namespace railhead::training
