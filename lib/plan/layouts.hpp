// Which layout is best for a model on so many GPUs: every one of a stated grid is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "plan/machine.hpp"
#include "plan/step_time.hpp"
#include "training/layout.hpp"
#include "training/memory.hpp"
#include "training/recipe.hpp"
#include "training/shape.hpp"

namespace railhead::plan {

/// What is asked for.  What is absent is searched.
struct LayoutQuestion {
    const training::Shape* shape = nullptr;
    const Machine* machine = nullptr;
    const training::Recipe* recipe = nullptr;
    std::uint64_t gpus = 0;
    std::uint64_t batch = 0;  ///< sequences of a step
    std::optional<std::uint64_t> tp, pp, cp, ep, microbatch, interleave;
    std::optional<training::Recompute> recompute;
    std::optional<training::Sharding> sharding;
    training::Reserve reserve;
    std::size_t keep = 10;  ///< of the best; at least 1
};

struct RankedLayout {
    training::Layout layout;
    StepTime time;
    training::Memory memory;
    training::Fit fit = training::Fit::no;
};

/// The best layouts first: those that fit, and where none does those that are tight.
struct LayoutSearch {
    std::vector<RankedLayout> ranked;
    std::uint64_t grid = 0;     ///< layouts that were looked at
    std::uint64_t fitting = 0;  ///< of them, that fit
    std::uint64_t tight = 0;
};

/// Calls `see` with each layout of the grid: tp x pp x cp x ep x dp is all GPUs, and
///  - tp divides heads, MLPs and the GPUs that NVLink joins, which hold a whole tp group;
///  - pp is at most the number of layers, which need not be divisible by it: stages differ by one
///    layer, the first ones having more, or first and last one less than the others;
///  - cp is a power of two, up to 64, that leaves 1024 tokens of a sequence or more;
///  - ep divides the experts;
///  - dp x ep x microbatch (1, 2, 4, 8) divides the batch;
///  - interleave (1, 2, 3, 4, 6, 8, 12, 16) gives chunks of equally many layers, but for one less
///  on
///    both ends, and microbatches are then a multiple of pp, as Megatron-LM wants them;
///  - recomputation is none or full: with flash attention selective keeps and does the same as
///  none;
///  - ZeRO stage 1 and 2, and 3 without a pipeline; 1 alone where there are no copies.
/// Sequence parallelism and flash attention are on.
void for_each_layout(const LayoutQuestion& question,
                     const std::function<void(const training::Layout&)>& see);

/// Fails with `bad_input` where GPUs or the batch are 0, and as StepModel::make() does.  An answer
/// may be empty: nothing fits, or nothing divides.
[[nodiscard]] Result<LayoutSearch> search_layouts(const LayoutQuestion& question);

}  // namespace railhead::plan
