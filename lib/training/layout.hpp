// How a model is laid over GPUs: tensor, pipeline, context, expert and data parallelism.
//
// Every GPU has one place in tp x pp x cp x ep x dp.  Sequences of their own have ep x dp groups:
// where a launcher counts expert parallelism inside data parallelism, as Megatron-LM does, its data
// parallel size is our ep x dp.  Experts are divided by tp and spread over ep, and copied over
// cp x dp; all else is copied over cp x ep x dp.
#pragma once

#include <cstdint>

#include "training/flops.hpp"
#include "training/shape.hpp"

namespace railhead::training {

/// What is divided among the copies of a parameter; each includes those above it.
enum class Sharding : std::uint8_t {
    none,
    optimizer,  ///< ZeRO stage 1, Megatron-LM's distributed optimizer
    gradients,  ///< ZeRO stage 2
    weights     ///< ZeRO stage 3, FSDP
};

/// All counts are at least 1, and tp divides what it is to divide: the memory model does not look.
struct Layout {
    std::uint64_t tp = 1, pp = 1, cp = 1, ep = 1, dp = 1;
    std::uint64_t interleave = 1;    ///< model chunks of a stage (virtual stages)
    std::uint64_t microbatch = 1;    ///< sequences
    std::uint64_t microbatches = 0;  ///< of a group in a step; 0: enough to fill the pipeline
    std::uint64_t first_stage_layers = 0, last_stage_layers = 0;  ///< 0: as the others
    std::uint64_t sequence = 0;                                   ///< 0: that of the shape
    Recompute recompute = Recompute::none;
    Sharding sharding = Sharding::optimizer;
    bool sequence_parallel = true;  ///< norms are divided by tp too
    bool flash_attention = true;    ///< scores are never written to memory

    [[nodiscard]] std::uint64_t gpus() const { return tp * pp * cp * ep * dp; }
    /// Groups that have sequences of their own.
    [[nodiscard]] std::uint64_t groups() const { return ep * dp; }
};

/// The layers [begin, end) of a stage.
struct StageLayers {
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] std::uint64_t count() const { return end - begin; }
};

/// The layers of stage `stage` of 0 ... pp - 1.  First and last stage have what the layout says;
/// the others share the rest evenly, and what is left over goes to the first of them.
[[nodiscard]] StageLayers layers_of(const Shape& shape, const Layout& layout, std::uint64_t stage);

/// How many microbatches of one chunk of the model (one of `interleave`) a stage keeps activations
/// of at its peak, under the schedule 1F1B: pp - stage, and interleaved 2 (pp - stage - 1) +
/// (interleave - 1) pp + 1, as Megatron-LM's schedules warm up; never more than there are.
///
/// On the first stage this is Korthikanti's factor 1 + (pp - 1) / (pp interleave) on all layers.
[[nodiscard]] std::uint64_t chunks_in_flight(const Layout& layout, std::uint64_t stage);

}  // namespace railhead::training
