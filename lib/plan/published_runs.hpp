// What MFU others reached: runs that were published, by accelerator, size of the model and scale.
#pragma once

#include <span>
#include <string_view>

#include "base/error.hpp"
#include "training/accelerator.hpp"

namespace railhead::plan {

/// A run in BF16.
struct PublishedRun {
    std::string_view accelerator;  ///< as in the catalogue: h100-sxm
    std::string_view model;
    double active_parameters = 0;  ///< that a token goes through
    bool has_experts = false;
    double gpus = 0;
    double mfu = 0;               ///< 0.41
    std::string_view convention;  ///< by which it is counted: of training::conventions()
    std::string_view source;
};

[[nodiscard]] std::span<const PublishedRun> published_runs();

/// The run of this accelerator that is nearest: the least sum of how many times larger or smaller
/// its model and its number of GPUs are (of logarithms).  Models with experts are compared with
/// their like alone.  Fails with `not_found` where there is none.
[[nodiscard]] Result<const PublishedRun*> nearest_run(const training::Accelerator& accelerator,
                                                      double active_parameters, bool has_experts,
                                                      double gpus);

}  // namespace railhead::plan
