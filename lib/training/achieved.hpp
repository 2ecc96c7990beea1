// How well does a run use its GPUs?  From what was typed, and for the rest from what its log says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "training/accelerator.hpp"
#include "training/flops.hpp"
#include "training/log_summary.hpp"
#include "training/mfu.hpp"
#include "training/shape.hpp"

namespace railhead::training {

/// A figure that the answer rests on: "GPUs", "384", "--gpus".
struct Input {
    std::string what, value, from;
};

struct MfuQuestion {
    std::optional<double> tokens_per_s;      ///< of all GPUs
    std::optional<double> tokens_per_s_gpu;  ///< of one; then the number of GPUs does not matter
    std::optional<double> samples_per_s;     ///< of all GPUs: a sequence is a sample
    std::optional<double> step_s;
    std::optional<double> batch;  ///< sequences a step
    std::optional<double> gpus;
    Shape shape;                  ///< its sequence is that of the run
    std::string shape_from;       ///< empty: no model was said
    bool sequence_typed = false;  ///< else a log's own length comes before the model's
    const Accelerator* accelerator = nullptr;
    std::optional<Precision> precision;
    std::optional<Recompute> recompute;
    const Convention* convention = nullptr;  ///< null: the first of conventions() that can be used
    std::optional<double> printed_tflops;    ///< by the log: TFLOP/s a GPU, the middle
    std::optional<double> printed_mfu;       ///< by the log, the last

    std::vector<Input> inputs;             ///< what was taken, and from where
    std::vector<std::string> assumptions;  ///< whole sentences
};

/// Takes what `run` says of the model, the batch, the GPUs and the settings where it is not known,
/// and says in `inputs` on which line of `source`, a file's name, it stands.
void add_facts(MfuQuestion& question, const Run& run, std::string_view source);

/// Takes from the run's log what was not typed, and says so in `inputs`.
void add_log(MfuQuestion& question, const TrainingLog& log, const LogSummary& summary);

struct MfuAnswer {
    Utilization utilization;
    Rate rate;
    std::vector<Utilization> others;  ///< by the other conventions
    Judgement judgement;
    const Accelerator* accelerator = nullptr;
    Precision precision = Precision::bf16;
    bool recompute_told = false;          ///< else that nothing is recomputed is assumed
    std::optional<double> printed_share;  ///< of the peak, by the log's own count of FLOPs
    Shape shape;
    std::vector<Input> inputs;
    std::vector<std::string> assumptions;
};

/// The utilization of the run as the published one was counted: by its convention, where the run
/// has it too; else as it is.
[[nodiscard]] const Utilization& counted_as(const PublishedMfu& published, const MfuAnswer& answer);

/// What is needed for an answer and neither typed nor in the log, as a person would ask for it.
[[nodiscard]] std::vector<std::string> missing_of(const MfuQuestion& question);

/// Fails with `bad_input` where something is missing, the accelerator has no peak in the precision,
/// or the model does not have what the convention counts.
[[nodiscard]] Result<MfuAnswer> answer(const MfuQuestion& question);

}  // namespace railhead::training
