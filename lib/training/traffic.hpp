// What data parallelism sends in a step, of one GPU.
//
// Ring or not, each GPU sends (and takes) (d - 1) / d of what is reduced or gathered over d copies:
// the amount hardly depends on d.  A bandwidth follows only with a time to send it in.
#pragma once

#include "training/layout.hpp"
#include "training/recipe.hpp"

namespace railhead::training {

/// Bytes that one GPU sends in a step.
struct GradientTraffic {
    double reduce_scatter = 0;  ///< gradients
    double all_gather = 0;      ///< gradients, or new weights where the optimizer is sharded
    [[nodiscard]] double total() const { return reduce_scatter + all_gather; }
};

/// (d - 1) / d of the gradients and then of the weights for `parameters` of one GPU with `copies`
/// d of them; without sharding both halves of an all-reduce are of gradients.  A sharded fp32 copy
/// of the gradients is what is reduced.  Weights that are sharded too are gathered once more, for
/// the backward pass.
[[nodiscard]] GradientTraffic gradient_traffic(double parameters, const Recipe& recipe,
                                               Sharding sharding, double copies);

}  // namespace railhead::training
