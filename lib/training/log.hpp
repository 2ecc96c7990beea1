// What does the log of a training run say?  Step times, losses, throughput, the arguments it was
// started with, and where in the file each of it stands.
//
// Megatron-LM, Megatron-DeepSpeed, Megatron-Bridge, NeMo, torchtitan, llm-foundry (composer),
// Hugging Face's Trainer, Lightning, DeepSpeed's flops profiler, FSDP examples that print
// samples/sec, and MLPerf's :::MLLOG.  Nobody says which: it is seen line by line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training/step_series.hpp"

namespace railhead::training {

enum class LogKind : std::uint8_t {
    none,  ///< no line of any of them was seen
    megatron,
    nemo,
    torchtitan,
    composer,
    trainer,         ///< Hugging Face
    progress_bar,    ///< tqdm's, as Lightning and the Trainer have it
    flops_profiler,  ///< DeepSpeed's
    samples_per_s,   ///< "Batch 3 Loss: 9.5, Speed: 11.1 samples/sec"
    mllog,
};
[[nodiscard]] std::string_view name_of(LogKind kind);

/// What a log says once, about the whole run.
enum class Topic : std::uint8_t {
    layers,
    hidden,
    heads,
    key_value_heads,
    ffn,
    vocabulary,
    sequence,
    experts,
    active_experts,
    expert_ffn,
    gated,  ///< 1: SwiGLU
    tied,   ///< 0: the output matrix is its own
    parameters,
    global_batch,
    micro_batch,
    world_size,
    tensor_parallel,
    pipeline_parallel,
    context_parallel,
    expert_parallel,
    data_parallel,
    full_recompute,  ///< 1: activations of whole layers are computed again
    selective_recompute,
    bf16,
    fp16,
    fp8,
    peak_tflops,  ///< that the run divides by to print its MFU
    steps,        ///< that the run is to take
    log_interval,
    chunks,             ///< of the model in a pipeline stage: virtual stages
    layers_per_chunk,   ///< of a virtual stage
    gradient_overlap,   ///< 1: gradients are sent while others are computed
    bucket_bytes,       ///< of gradients that are sent at once
    flash_attention,    ///< 0: scores are written to memory
    fp32,               ///< 1: matrices of 32 bits
    loader_workers,     ///< processes that load samples, of a rank
    pinned_memory,      ///< 1: samples are copied to the GPU from pinned memory
    save_interval,      ///< steps from one checkpoint to the next
    asynchronous_save,  ///< 1: training goes on while a checkpoint is written
    count_
};
[[nodiscard]] std::string_view name_of(Topic topic);

struct Fact {
    double value = 0;
    std::string written;     ///< its key as in the log: "hidden_size"
    std::uint64_t line = 0;  ///< 1-based
};

/// What a line about a step says.  What is not printed is absent.
struct Step {
    std::uint64_t line = 0;
    std::optional<std::uint64_t> iteration;
    std::optional<std::uint64_t> of;  ///< steps that the run is to take
    std::optional<double> step_s;
    std::optional<double> consumed_samples, consumed_tokens;
    std::optional<double> global_batch;  ///< sequences
    std::optional<double> loss, grad_norm, learning_rate;
    std::optional<double> samples_per_s;  ///< of all GPUs
    std::optional<double> tokens_per_s_gpu;
    std::optional<double> tokens_per_s;  ///< of all GPUs
    std::optional<double> tflops;        ///< TFLOP/s a GPU, by the log's own formula
    std::optional<double> mfu;           ///< a share, by the log's own formula
    std::optional<double> skipped, nan;  ///< iterations since the last line
    std::optional<double> memory_bytes;  ///< the most of a GPU
};

enum class EventKind : std::uint8_t { validation, checkpoint_save, checkpoint_load };
[[nodiscard]] std::string_view name_of(EventKind kind);

struct Event {
    EventKind kind = EventKind::validation;
    std::optional<std::uint64_t> iteration;
    std::optional<double> duration_s;
    std::uint64_t line = 0;
};

/// What a sample's time is, the first that a run prints of these.
enum class Measure : std::uint8_t {
    none,
    step_s,               ///< seconds a step
    seconds_a_token_gpu,  ///< 1 / (tokens/s of a GPU): no step time is printed
    seconds_a_sample,     ///< 1 / (samples/s of all GPUs)
};

/// From a start of the program to its end, or to the next start in the same file.
struct Run {
    LogKind kind = LogKind::none;
    std::uint64_t first_line = 0;
    std::string device;             ///< the GPU, as torchtitan names it: "NVIDIA H100 80GB HBM3"
    std::uint64_t device_line = 0;  ///< 0: it does not
    Measure measure = Measure::none;
    StepSeries series;
    std::array<std::optional<Fact>, static_cast<std::size_t>(Topic::count_)> facts;
    std::vector<Event> events;  ///< the first and the last few hundred
    std::uint64_t events_left_out = 0;
    std::optional<Step> first, last;     ///< lines about steps
    double skipped = 0, nan = 0;         ///< iterations, as the run counts them
    std::uint64_t nan_losses = 0;        ///< lines with a loss that is no number
    std::optional<double> memory_bytes;  ///< the most that was printed
    // Of what each line prints of itself, in order to tell the middle of it.
    std::optional<double> last_tflops, last_mfu;
    // Seconds since 1970 where lines have times.
    std::optional<double> last_step_at_s;   ///< of the last line about a step
    std::optional<double> after_step_at_s;  ///< of the first line after it that has a time
    std::optional<double> last_at_s;        ///< of the last line of all that has one
    std::optional<Event> event_after_last;  ///< that no step came after

    [[nodiscard]] const Fact* fact(Topic topic) const {
        const auto& found = facts[static_cast<std::size_t>(topic)];
        return found ? &*found : nullptr;
    }
};

struct TrainingLog {
    std::string file;
    std::vector<Run> runs;            ///< the last few; none where no step was found
    std::uint64_t runs_left_out = 0;  ///< the oldest
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wrapped = 0;   ///< records that were put together from several lines
    std::uint64_t repeated = 0;  ///< lines about a step that another rank had printed
    bool cut = false;            ///< the last line has no end
};

}  // namespace railhead::training
