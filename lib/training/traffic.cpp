#include "training/traffic.hpp"

namespace railhead::training {

GradientTraffic gradient_traffic(double parameters, const Recipe& recipe, Sharding sharding,
                                 double copies) {
    const auto sent = parameters * (copies - 1) / copies;
    // Of two kinds of gradients those of 16 bits are made, and the fp32 ones are reduced.
    const auto reduced = recipe.gradient_copy > 0 ? recipe.gradient_copy : recipe.gradients;
    GradientTraffic out;
    out.reduce_scatter = sent * reduced;
    out.all_gather = sent * (sharding == Sharding::none ? reduced : recipe.weights);
    if (sharding == Sharding::weights) {
        out.all_gather *= 2;
    }
    return out;
}

}  // namespace railhead::training
