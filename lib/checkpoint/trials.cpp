#include "checkpoint/trials.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "checkpoint/interval.hpp"

namespace railhead::checkpoint {

namespace {

constexpr double most_draws = 3e8;  // about a minute

/// So much work that it is cut into checkpoints evenly enough.
double work_of_run_s(const Timing& timing, const TrialSetup& setup) {
    constexpr double usual_mtbfs = 20;
    constexpr double least_checkpoints = 16;
    return std::max(setup.duration_s.value_or(usual_mtbfs * timing.mtbf_s()),
                    least_checkpoints * setup.chosen_s);
}

Experiment experiment_of(const TrialSetup& setup, double interval_s, double work_s) {
    constexpr double most = 1e15;  // far more than could be waited for
    const auto checkpoints = std::clamp(std::round(work_s / interval_s), 1.0, most);
    return {interval_s, static_cast<std::uint64_t>(checkpoints), setup.shape, setup.seed};
}

double failures_of(const Timing& timing, const Trial& trial) {
    return trial.experiment.interval_s * static_cast<double>(trial.experiment.checkpoints) *
           trial.formula / timing.mtbf_s();
}

}  // namespace

Result<Trials> Trials::make(const Timing& timing, const TrialSetup& setup) {
    if (setup.runs == 0) {
        return fail(Errc::bad_input, "a simulation of no runs");
    }
    constexpr auto sqrt2 = std::numbers::sqrt2;
    std::vector<double> intervals_s;
    for (const auto factor : {1.0, 0.25, 0.5, 1 / sqrt2, sqrt2, 2.0, 4.0}) {
        intervals_s.push_back(factor * setup.chosen_s);
    }
    if (setup.own_s) {
        intervals_s.push_back(*setup.own_s);
    }
    const auto work_s = work_of_run_s(timing, setup);
    Trials out{timing, setup.runs};
    double draws = 0;
    for (const auto interval_s : intervals_s) {
        const auto experiment = experiment_of(setup, interval_s, work_s);
        auto checked = check_experiment(timing, experiment);
        if (!checked && out.trials_.empty()) {
            return propagate(checked);
        }
        if (checked && interval_s >= timing.background_s()) {
            auto& trial = out.trials_.emplace_back();
            trial.experiment = experiment;
            trial.formula = checkpoint::stretch(timing, interval_s);
            draws += failures_of(timing, trial) * static_cast<double>(setup.runs);
        }
    }
    if (draws > most_draws) {
        return fail(Errc::bad_input,
                    fmt::format("{} runs have about {:.1g} failures to draw, at most {:.0g} can be "
                                "waited for: ask for fewer runs or a shorter time",
                                setup.runs, draws, most_draws));
    }
    return out;
}

bool Trials::step() {
    if (done_ == runs_) {
        return false;
    }
    double chosen = 0;
    for (auto& trial : trials_) {
        const auto run = simulate_run(timing_, trial.experiment, done_);
        const auto work_s =
            trial.experiment.interval_s * static_cast<double>(trial.experiment.checkpoints);
        const auto stretch = run.wall_s / work_s;
        chosen = &trial == trials_.data() ? stretch : chosen;
        trial.stretch.add(stretch);
        trial.excess.add(stretch - chosen);
    }
    ++done_;
    return true;
}

const Trial* Trials::better_than_chosen() const {
    constexpr double sure = 3;
    const auto least = std::ranges::min_element(
        trials_, {}, [](const Trial& trial) { return trial.excess.mean(); });
    return least->excess.mean() < -sure * least->excess.standard_error() ? &*least : nullptr;
}

}  // namespace railhead::checkpoint
