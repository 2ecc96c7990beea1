// The size of a training cluster as text and JSON; at most 80 columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/sizing.hpp"

namespace railhead::report {

/// How many GPUs, and all that follows: layout, memory, network, failures, energy, sensitivity, and
/// the figures they rest on.
[[nodiscard]] std::string size_text(const plan::SizeAnswer& answer);

/// The ranked layouts, with the time of each by term.
[[nodiscard]] std::string layouts_text(const plan::SizeAnswer& answer);

/// One accelerator of a comparison.
struct ComparedSize {
    std::string accelerator;
    std::optional<plan::SizeAnswer> answer;
    std::string why_not;  ///< where there is no answer
};
/// A line for each, the fewest GPUs first; those without an answer last, with the reason.
[[nodiscard]] std::string comparison_text(const std::vector<ComparedSize>& sizes);

/// Schema railhead.size/1.
[[nodiscard]] std::string size_json(const plan::SizeAnswer& answer);
/// Schema railhead.sizes/1: railhead.size/1 of each.
[[nodiscard]] std::string comparison_json(const std::vector<ComparedSize>& sizes);

/// "TP 8, PP 16, DP 128; microbatch 1; ZeRO 1".
[[nodiscard]] std::string layout_text(const training::Layout& layout);

}  // namespace railhead::report
