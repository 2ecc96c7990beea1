// What `railhead ckpt` says: how often to write a checkpoint, what is lost, and where each figure
// is from.
#pragma once

#include <string>

#include "checkpoint/recommend.hpp"
#include "checkpoint/trials.hpp"

namespace railhead::report {

/// For people, in 80 columns.  `trials` are those of a simulation; null: none was asked for.
[[nodiscard]] std::string checkpoint_text(const checkpoint::Recommendation& recommendation,
                                          const checkpoint::Trials* trials = nullptr);

/// For programs: schema railhead.ckpt/1.
[[nodiscard]] std::string checkpoint_json(const checkpoint::Recommendation& recommendation,
                                          const checkpoint::Trials* trials = nullptr);

/// The cost curve, share of the time that is lost over the interval, as an SVG file for light and
/// dark screens: Young's, Daly's, the exact and the chosen interval are marked, and the user's own.
[[nodiscard]] std::string checkpoint_svg(const checkpoint::Recommendation& recommendation);

/// The value of a figure that was not given, with its unit: "6.5 in 1000 node-days".
[[nodiscard]] std::string value_text(const checkpoint::Assumption& assumption);

}  // namespace railhead::report
