#include "training/layout.hpp"

#include <algorithm>

namespace railhead::training {

StageLayers layers_of(const Shape& shape, const Layout& layout, std::uint64_t stage) {
    const auto first = layout.first_stage_layers;
    const auto last = layout.pp > 1 ? layout.last_stage_layers : 0;
    if (stage == 0 && first > 0) {
        return {0, std::min(first, shape.layers)};
    }
    if (stage + 1 == layout.pp && last > 0) {
        return {shape.layers - std::min(last, shape.layers), shape.layers};
    }
    const std::uint64_t before = first > 0 ? 1 : 0;
    const std::uint64_t after = last > 0 ? 1 : 0;
    const auto layers = shape.layers - std::min(first + last, shape.layers);
    const auto stages = layout.pp - before - after;
    const auto index = stage - before;
    const auto each = layers / stages;
    const auto over = layers % stages;
    const auto begin = first + index * each + std::min(index, over);
    return {begin, begin + each + (index < over ? 1 : 0)};
}

std::uint64_t chunks_in_flight(const Layout& layout, std::uint64_t stage) {
    const auto later = layout.pp - stage - 1;  // stages behind this one
    const auto chunks =
        layout.interleave == 1 ? later + 1 : 2 * later + (layout.interleave - 1) * layout.pp + 1;
    return layout.microbatches == 0 ? chunks
                                    : std::min(chunks, layout.microbatches * layout.interleave);
}

}  // namespace railhead::training
