// What `railhead allreduce` says: the curve of a collective, what NCCL takes, and what its
// variables would change.
#pragma once

#include <string>

#include "fabric/collective_question.hpp"

namespace railhead::report {

/// For people, in 80 columns.
[[nodiscard]] std::string collective_text(const fabric::CollectiveAnswer& answer);

/// For programs: schema railhead.allreduce/1.
[[nodiscard]] std::string collective_json(const fabric::CollectiveAnswer& answer);

/// Bus bandwidth over size as an SVG file for light and dark screens: a colour for each algorithm,
/// and what was measured.
[[nodiscard]] std::string collective_svg(const fabric::CollectiveAnswer& answer);

}  // namespace railhead::report
