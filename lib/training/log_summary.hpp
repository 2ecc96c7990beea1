// What became of a run's speed and of its loss, from its log: the usual step, where it changed,
// which steps were slow, and whether the run hangs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "training/log.hpp"
#include "training/statistics.hpp"

namespace railhead::training {

/// Steps whose numbers follow each other at one speed.  Times are in the unit of Run::measure.
struct Level {
    std::uint64_t first = 0, last = 0;  ///< iterations
    std::uint64_t first_line = 0;
    std::uint64_t lines = 0;       ///< about steps, those between two levels not among them
    double time = 0;               ///< the median
    std::optional<double> tflops;  ///< the median of what is printed
};

/// From one level to the next, without a gap in the log between them.
struct Shift {
    std::uint64_t left = 0;     ///< the last iteration of the level before
    std::uint64_t settled = 0;  ///< the first of the new one
    std::uint64_t line = 0;     ///< of the first step that had left the level before
    Level before, after;
    /// 0.05: steps take 5 % longer.
    [[nodiscard]] double change() const { return after.time / before.time - 1; }
};

struct SlowStep {
    std::uint64_t iteration = 0, line = 0;
    double time = 0, usual = 0;
};

/// Steps above the level that they are on by 1.5 % and by four times its spread.
struct SlowSteps {
    std::uint64_t count = 0;
    double lost_share = 0;        ///< what they took beyond the usual, of all time
    std::optional<double> every;  ///< iterations, where at least four come at even distances
    std::vector<SlowStep> worst;  ///< the slowest few, slowest first
};

/// Steps right after a validation, or after a checkpoint: they are no part of the usual step.
struct Interrupted {
    std::uint64_t count = 0;
    double time = 0;  ///< the median
};

struct LossSpike {
    std::uint64_t iteration = 0, line = 0;
    double before = 0, loss = 0;
    std::optional<std::uint64_t> recovered;  ///< the iteration at which it was back
};

struct Hang {
    std::optional<Event> after;  ///< the last word but for lines that are not the run's
    std::uint64_t last_iteration = 0, last_line = 0;
    std::optional<double> silent_s;  ///< no step for so long
    bool at_least = false;           ///< the last step's line has no time: it was longer
    std::optional<double> usual_s;   ///< from one line about steps to the next
    /// Else the log may just end there.
    [[nodiscard]] bool certain() const { return silent_s.has_value(); }
};

struct LogSummary {
    std::size_t run = 0;  ///< of TrainingLog::runs
    Measure measure = Measure::none;
    std::uint64_t lines = 0;    ///< about steps, in the whole run
    std::uint64_t stride = 1;   ///< one in so many lines was looked at
    std::uint64_t warm_up = 0;  ///< lines left out
    std::uint64_t timed = 0;    ///< that the quartiles are of
    Quartiles time;
    std::optional<double> tflops, mfu_printed;
    Interrupted validation, checkpoint;
    std::vector<Level> levels;
    std::vector<Shift> shifts;
    std::optional<Trend> trend;  ///< a slope is of a line about steps; none where levels differ
    double trend_share = 0;      ///< over the whole log, of the median; 0: no trend
    SlowSteps slow;
    std::vector<LossSpike> spikes;
    std::optional<Hang> hang;
};

/// The number of the run that is worth looking at: the last with three timed steps, else the one
/// with most.  Nothing where no run has a step.
[[nodiscard]] std::optional<std::size_t> choose_run(const TrainingLog& log);

/// `run` is below log.runs.size().
///
/// Warm-up, at most the first 10 lines and half of all, is left out as long as lines are slower
/// than the median of the others by a tenth.  Steps after a validation or a checkpoint are told
/// apart. A hole in the numbers of the steps, ten times as wide as they usually are apart, ends a
/// level but is no shift.
[[nodiscard]] LogSummary summarize(const TrainingLog& log, std::size_t run);

/// A figure that several lines agree on.
struct Derived {
    double value = 0;
    std::uint64_t line = 0;
    const char* how = "";
};
/// Sequences a step: printed, or from consumed samples.
[[nodiscard]] std::optional<Derived> batch_of(const Run& run);
/// Tokens a sequence: printed, or consumed tokens by consumed samples.
[[nodiscard]] std::optional<Derived> sequence_of(const Run& run);

}  // namespace railhead::training
