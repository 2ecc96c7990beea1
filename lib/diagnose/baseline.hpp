// Two runs of the same job: which share of the step changed?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/facts.hpp"

namespace railhead::diagnose {

/// A part of the time of a step, on average over the run.
struct StepPart {
    std::string_view what;
    double before = 0, now = 0;  ///< in the unit of Comparison::measure
    double share = 0;            ///< (now - before) of the mean step before
};

/// An argument of the run that differs.
struct Changed {
    std::string_view what;
    std::optional<double> before, now;
};

struct Comparison {
    training::Measure measure = training::Measure::none;
    std::vector<StepPart> parts;  ///< add up to the mean step
    double before = 0, now = 0;   ///< mean step
    std::optional<double> mfu_before, mfu_now;
    /// Tokens of a step where they differ: the run at hand is told as steps of the run before.
    std::optional<double> tokens_before, tokens_now;
    bool tokens_unknown = false;  ///< not all is told that a step's tokens follow from
    std::vector<Changed> changed;
    [[nodiscard]] double change() const { return now / before - 1; }
};

/// Steps of unlike batches or sequences are compared by their tokens.  Fails with `bad_input` where
/// one of the two has no timed steps, or they are timed in different ways.
[[nodiscard]] Result<Comparison> compare(const TrainingFacts& before, const TrainingFacts& now);

}  // namespace railhead::diagnose
