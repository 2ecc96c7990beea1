// How FLOPs were counted, in words.
#pragma once

#include <string>
#include <vector>

#include "training/accelerator.hpp"
#include "training/flops.hpp"
#include "training/shape.hpp"

namespace railhead::report {

/// The formula of a convention, and what is counted of this shape besides.
[[nodiscard]] std::string formula_text(const training::Shape& shape,
                                       const training::Convention& convention);

/// A table of what those conventions count of this shape beside their formulas, a row for those
/// that count alike; "" where their formulas are all.
[[nodiscard]] std::string besides_text(const training::Shape& shape,
                                       const std::vector<const training::Convention*>& conventions);

/// "by "matrices"", "by a convention that is not known".
[[nodiscard]] std::string by_convention(const training::PublishedMfu& published);

}  // namespace railhead::report
