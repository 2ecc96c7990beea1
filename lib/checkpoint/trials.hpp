// Several intervals put to the same simulated failures: is the chosen one the best of them?
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/simulate.hpp"

namespace railhead::checkpoint {

struct TrialSetup {
    double chosen_s = 0;  ///< the interval in question
    /// Another one, of the user.
    std::optional<double> own_s = std::nullopt;
    /// About how long a run works; default: 20 MTBF.
    std::optional<double> duration_s = std::nullopt;
    double shape = 1;  ///< as Experiment has it
    std::uint64_t seed = 1;
    std::uint64_t runs = 2000;
};

/// One interval and what its runs gave.
struct Trial {
    Experiment experiment;
    double formula = 0;  ///< stretch() of the interval: wall time over working time
    Mean stretch;        ///< the same of the runs
    Mean excess;         ///< its difference to the chosen interval's, run by run
};

class Trials {
 public:
    /// The chosen interval first, then a quarter, half, double and four times of it, then the own
    /// one. Those whose runs would hardly end are left out.
    ///
    /// Fails with `bad_input` as check_experiment() does for the chosen interval, without runs, and
    /// where more than 3e8 failures would have to be drawn.
    [[nodiscard]] static Result<Trials> make(const Timing& timing, const TrialSetup& setup);

    /// Simulates the next run of each interval; false when all are done.
    bool step();
    [[nodiscard]] std::uint64_t done() const { return done_; }
    [[nodiscard]] std::uint64_t runs() const { return runs_; }
    [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
    /// The trial of the least mean, if that is below the chosen one's by more than three standard
    /// errors of their difference; else null.
    [[nodiscard]] const Trial* better_than_chosen() const;

 private:
    Trials(const Timing& timing, std::uint64_t runs) : timing_{timing}, runs_{runs} {}
    Timing timing_;
    std::uint64_t runs_;
    std::uint64_t done_ = 0;
    std::vector<Trial> trials_;
};

}  // namespace railhead::checkpoint
