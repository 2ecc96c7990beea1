#include "checkpoint/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "checkpoint/interval.hpp"

namespace railhead::checkpoint {

namespace {

constexpr double least_shape = 0.2;
constexpr double most_shape = 5;

/// Gaps between failures.
class Gaps {
 public:
    Gaps(double mean_s, const Experiment& experiment, std::uint64_t number)
        : scale_s_{mean_s / std::tgamma(1 + 1 / experiment.shape)},
          exponent_{1 / experiment.shape} {
        std::seed_seq words{static_cast<std::uint32_t>(experiment.seed >> 32U),
                            static_cast<std::uint32_t>(experiment.seed),
                            static_cast<std::uint32_t>(number >> 32U),
                            static_cast<std::uint32_t>(number)};
        generator_.seed(words);
    }

    double next_s() {
        // 53 random bits, in the middle of their steps: never 0, never 1.
        const auto uniform = (static_cast<double>(generator_() >> 11U) + 0.5) * 0x1p-53;
        const auto exponential = -std::log(uniform);
        return scale_s_ * (exponent_ == 1 ? exponential : std::pow(exponential, exponent_));
    }

 private:
    std::mt19937_64 generator_;
    double scale_s_;
    double exponent_;
};

}  // namespace

Result<void> check_experiment(const Timing& timing, const Experiment& experiment) {
    if (!(experiment.interval_s > 0) || !std::isfinite(experiment.interval_s)) {
        return fail(Errc::bad_input, fmt::format("an interval of {:g} s: it has to be more than 0",
                                                 experiment.interval_s));
    }
    if (experiment.checkpoints == 0) {
        return fail(Errc::bad_input, "a run of no checkpoints");
    }
    if (!(experiment.shape >= least_shape && experiment.shape <= most_shape)) {
        return fail(Errc::bad_input, fmt::format("a Weibull shape of {:g}: between {:g} and {:g}",
                                                 experiment.shape, least_shape, most_shape));
    }
    const auto work_s = experiment.interval_s * static_cast<double>(experiment.checkpoints);
    const auto failures = work_s * stretch(timing, experiment.interval_s) / timing.mtbf_s();
    if (!(failures < most_failures)) {
        return fail(Errc::bad_input,
                    fmt::format("a run of {:.3g} failures is too long to simulate", failures));
    }
    return {};
}

Run simulate_run(const Timing& timing, const Experiment& experiment, std::uint64_t number) {
    Gaps gaps{timing.mtbf_s(), experiment, number};
    const auto segment_s = experiment.interval_s + timing.cost_s();
    Run run;
    double start_s = 0;  // when work on the next checkpoint begins
    double failure_s = gaps.next_s();
    auto left = experiment.checkpoints;
    for (;;) {
        const auto end_s = start_s + segment_s * static_cast<double>(left) + timing.background_s();
        if (end_s <= failure_s) {
            run.wall_s = end_s;
            return run;
        }
        const auto done = std::floor((failure_s - start_s - timing.background_s()) / segment_s);
        if (done > 0) {
            // Fewer than are left, whatever rounding says: the end was not reached.
            left -= std::min(static_cast<std::uint64_t>(done), left - 1);
        }
        double up_s = 0;
        do {
            ++run.failures;
            up_s = failure_s + timing.restart_s();
            failure_s += gaps.next_s();
        } while (failure_s < up_s);
        start_s = up_s;
    }
}

void Mean::add(double value) {
    ++count_;
    const auto off = value - mean_;
    mean_ += off / static_cast<double>(count_);
    squares_ += off * (value - mean_);
}

double Mean::standard_error() const {
    const auto count = static_cast<double>(count_);
    return count_ < 2 ? 0 : std::sqrt(squares_ / (count - 1) / count);
}

}  // namespace railhead::checkpoint
