// What training keeps of every parameter: weights, gradients, optimizer state, in bytes.
//
// Bytes per parameter: Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 3.1, and the table of
// Megatron-LM's distributed optimizer.  Sharding spreads them over ranks but changes no sum.
#pragma once

#include <span>
#include <string_view>

namespace railhead::training {

/// What training keeps of one parameter, in bytes.
struct Recipe {
    std::string_view name;  ///< as people type it: "adam-mixed"
    double weights = 0;
    double gradients = 0;
    double optimizer = 0;  ///< with the fp32 master weights, where the weights are of 16 bits
    std::string_view what;
    std::string_view source;
    /// Of the gradients, the fp32 copy that lies with the optimizer and is sharded with it.
    double gradient_copy = 0;
    [[nodiscard]] double in_memory() const { return weights + gradients + optimizer; }
    /// Gradients are not saved: the next step makes them anew.
    [[nodiscard]] double in_checkpoint() const { return weights + optimizer; }
};

[[nodiscard]] std::span<const Recipe> recipes();
/// The recipe of this name, without regard to case; null when there is none.
[[nodiscard]] const Recipe* find_recipe(std::string_view name);
/// 16-bit weights with fp32 master weights and Adam: how most large models are trained.
[[nodiscard]] const Recipe& usual_recipe();

}  // namespace railhead::training
