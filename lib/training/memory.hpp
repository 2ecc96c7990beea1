// What training takes of the memory of one GPU, and whether it fits.
//
// Weights, gradients and optimizer by recipe and ZeRO stage (Rajbhandari et al., arXiv:1910.02054),
// activations by architecture and recomputation, of the pipeline stage that needs most.  Pure
// arithmetic that allocates nothing: the search for a layout asks it for every one.
#pragma once

#include <cstdint>
#include <string_view>

#include "training/activations.hpp"
#include "training/layout.hpp"
#include "training/recipe.hpp"
#include "training/shape.hpp"

namespace railhead::training {

/// Bytes that the state of parameters takes.
struct State {
    double weights = 0, gradients = 0, optimizer = 0;
    [[nodiscard]] double total() const { return weights + gradients + optimizer; }
};

/// The state of `parameters` of one GPU, what is sharded being divided among `copies`.  ZeRO stage
/// 1: (2 + 2 + 12 / d) Psi for `adam-mixed`; a copy of the gradients that lies with the optimizer
/// is sharded with it.
[[nodiscard]] State state_of(double parameters, const Recipe& recipe, Sharding sharding,
                             double copies);

/// Parameters of one GPU of a stage, before any sharding over copies.
struct StageParameters {
    double common = 0;   ///< copied over cp x ep x dp
    double experts = 0;  ///< copied over cp x dp
    double layer = 0;    ///< of its largest layer
};
[[nodiscard]] StageParameters parameters_of(const Shape& shape, const Layout& layout,
                                            std::uint64_t stage);

/// Room that is left for what no formula tells.  All of it is a guess but for the size of NCCL's
/// buffers.
struct Reserve {
    double context_bytes = 0.6e9;  ///< CUDA context, kernels, libraries: a guess
    /// Each communicator: 32 channels, a buffer of 4 MiB (NCCL_BUFFSIZE's default) each way.
    double communicator_bytes = 2.0 * 32 * 4 * 1024 * 1024;
    double fragmentation = 0.05;  ///< of all that is allocated and freed in a step: a guess
};

/// Bytes of one GPU.
struct Memory {
    State state;
    double gathered = 0;     ///< weights of two layers, at work and fetched ahead; ZeRO stage 3
    double activations = 0;  ///< kept by all microbatches in flight
    double recomputed = 0;   ///< by the layer that is at work backwards
    double logits = 0;       ///< of the last stage
    double reserve = 0;
    std::uint64_t stage = 0;  ///< the one that needs most
    ActivationFormula formula = ActivationFormula::by_term;

    /// Without the reserve.
    [[nodiscard]] double needed() const {
        return state.total() + gathered + activations + recomputed + logits;
    }
    [[nodiscard]] double total() const { return needed() + reserve; }
};

/// Of one stage.
[[nodiscard]] Memory memory_of_stage(const Shape& shape, const Layout& layout, const Recipe& recipe,
                                     std::uint64_t stage, const Reserve& reserve = {});

/// Of the stage that needs most.
[[nodiscard]] Memory memory_per_gpu(const Shape& shape, const Layout& layout, const Recipe& recipe,
                                    const Reserve& reserve = {});

enum class Fit : std::uint8_t {
    fits,
    tight,  ///< only without the reserve, or without a part of it
    no
};
[[nodiscard]] Fit fit_of(const Memory& memory, double memory_bytes);
[[nodiscard]] std::string_view to_string(Fit fit);

}  // namespace railhead::training
