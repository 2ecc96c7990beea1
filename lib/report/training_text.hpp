// How FLOPs were counted, in words.
#pragma once

#include <string>

#include "training/accelerator.hpp"
#include "training/flops.hpp"
#include "training/shape.hpp"

namespace railhead::report {

/// The formula of a convention, and what is counted of this shape besides.
[[nodiscard]] std::string formula_text(const training::Shape& shape,
                                       const training::Convention& convention);

/// "by "matrices"", "by a convention that is not known".
[[nodiscard]] std::string by_convention(const training::PublishedMfu& published);

}  // namespace railhead::report
