// Runs that fail by chance, to see whether the formulas hold: for bursty failures none does
// exactly.
//
// A run works towards a number of checkpoints; gaps between failures are drawn, exponential or
// Weibull. The same seed gives the same gaps on every machine: the generator is the standard's, the
// distributions are our own, since those of the standard library differ between libraries.  The
// same run number sees the same failures whatever the interval, so that intervals compare without
// noise.
#pragma once

#include <cstdint>

#include "checkpoint/timing.hpp"

namespace railhead::checkpoint {

struct Experiment {
    double interval_s = 0;          ///< work between two checkpoints; more than 0
    std::uint64_t checkpoints = 1;  ///< a run ends when so many are complete
    /// Of the Weibull gaps: 1 is exponential, less is bursty (Titan's GPUs: 0.63).  The mean stays
    /// the MTBF; a run begins just after a failure.
    double shape = 1;
    std::uint64_t seed = 1;
};

/// Fails with `bad_input` unless the interval is positive, there is a checkpoint and the shape lies
/// between 0.2 and 5; and unless fewer than `most_failures` are to be expected in a run.
[[nodiscard]] Result<void> check_experiment(const Timing& timing, const Experiment& experiment);
constexpr double most_failures = 1e6;

struct Run {
    double wall_s = 0;
    std::uint64_t failures = 0;
};

/// Run `number` of an experiment that check_experiment() likes.  After a failure comes a restart,
/// which may fail too; a checkpoint counts once its write in the background is over.
[[nodiscard]] Run simulate_run(const Timing& timing, const Experiment& experiment,
                               std::uint64_t number);

/// Mean and standard error of what was added: Welford's way, so order matters only to the last
/// digits.
class Mean {
 public:
    void add(double value);
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] double mean() const { return mean_; }
    /// Of the mean; 0 below two values.
    [[nodiscard]] double standard_error() const;

 private:
    std::uint64_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

}  // namespace railhead::checkpoint
