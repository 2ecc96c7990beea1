// How long a step takes in a layout, modelled term by term.  docs/layouts.md derives each.
//
// No constant is fitted to a run: the terms follow from rates of the machine.  Overlap that real
// frameworks win, and idle time that they lose, is not in it: the model ranks layouts, and says why
// one is slower.  It does not foretell the step time of a run.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "plan/machine.hpp"
#include "training/layout.hpp"
#include "training/recipe.hpp"
#include "training/shape.hpp"

namespace railhead::plan {

/// Seconds of one step on its slowest pipeline stage.  Traffic counts as far as nothing hides it.
struct StepTime {
    double matmul = 0;         ///< at the rate of the best matmul
    double attention = 0;      ///< its core, at half of the peak
    double memory = 0;         ///< weights, gradients and activations to and from memory
    double recomputation = 0;  ///< of activations
    double tensor = 0;         ///< all-gathers and reduce-scatters of tensor parallelism
    double context = 0;        ///< keys and values around the ring
    double expert = 0;         ///< all-to-alls
    double pipeline = 0;       ///< sends between stages
    double bubble = 0;         ///< stages that wait for the first or the last microbatch
    double data = 0;           ///< gradients and weights among copies
    double optimizer = 0;
    std::uint64_t stage = 0;  ///< the slowest

    [[nodiscard]] double total() const {
        return matmul + attention + memory + recomputation + tensor + context + expert + pipeline +
               bubble + data + optimizer;
    }
};

/// The model of one shape on one machine.  Both, and the recipe, have to outlive it.
class StepModel {
 public:
    /// Fails as flops_per_token() does.
    [[nodiscard]] static Result<StepModel> make(const training::Shape& shape,
                                                const Machine& machine,
                                                const training::Recipe& recipe);

    /// `layout.microbatches` is the number of a step, and not 0.  Allocates nothing.
    [[nodiscard]] StepTime time_of(const training::Layout& layout) const;

 private:
    StepModel(const training::Shape& shape, const Machine& machine, const training::Recipe& recipe)
        : shape_{&shape}, machine_{&machine}, recipe_{&recipe} {}
    struct Microbatch;
    [[nodiscard]] Microbatch microbatch_of(const training::Layout& layout) const;
    [[nodiscard]] StepTime stage_time(const training::Layout& layout, const Microbatch& microbatch,
                                      std::uint64_t stage) const;
    void finish(const training::Layout& layout, StepTime& time) const;
    [[nodiscard]] double data_time(const training::Layout& layout, double parameters, double copies,
                                   double inner) const;
    [[nodiscard]] double group_rate(double inner, double ranks) const;

    const training::Shape* shape_;
    const Machine* machine_;
    const training::Recipe* recipe_;
    // FLOPs of a token, forward and backward.
    double plain_layer_ = 0, routed_layer_ = 0, core_ = 0, end_ = 0;
};

}  // namespace railhead::plan
