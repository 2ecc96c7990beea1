#include "checkpoint/simulate.hpp"

#include <cmath>
#include <cstdint>

#include "checkpoint/interval.hpp"
#include "checkpoint/trials.hpp"
#include "support/catch.hpp"

namespace checkpoint = railhead::checkpoint;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using checkpoint::Experiment;
using checkpoint::Mean;
using checkpoint::Timing;

namespace {

Mean walls_of(const Timing& timing, const Experiment& experiment, std::uint64_t runs) {
    Mean walls;
    for (std::uint64_t run = 0; run < runs; ++run) {
        walls.add(checkpoint::simulate_run(timing, experiment, run).wall_s);
    }
    return walls;
}

checkpoint::Trials all_of(const Timing& timing, const checkpoint::TrialSetup& setup) {
    auto trials = checkpoint::Trials::make(timing, setup).value();
    while (trials.step()) {
    }
    return trials;
}

}  // namespace

TEST_CASE("simulated runs take as long as the formula says", "[checkpoint][simulate]") {
    struct Case {
        const char* why;
        checkpoint::TimingFacts facts;
        double interval_s;
        std::uint64_t checkpoints;
    };
    const auto c = GENERATE(values<Case>({
        {"Daly's example", {86400, 300, 600, 0}, 7001, 50},
        {"failures as frequent as checkpoints", {3600, 300, 600, 0}, 1500, 50},
        {"a cost of an MTBF", {600, 600, 60, 0}, 500, 10},
        {"a restart longer than an MTBF", {600, 10, 900, 0}, 100, 50},
        {"much too short an interval", {86400, 300, 600, 0}, 100, 500},
        {"much too long an interval", {3600, 10, 60, 0}, 10000, 10},
        {"no restart", {3600, 60, 0, 0}, 600, 50},
        {"a write in the background", {3600, 20, 300, 400}, 500, 50},
        {"a write in the background as long as the interval", {1800, 5, 60, 300}, 300, 50},
    }));
    CAPTURE(c.why);
    const auto timing = Timing::make(c.facts).value();
    const Experiment experiment{c.interval_s, c.checkpoints, 1, 7};

    const auto walls = walls_of(timing, experiment, 4000);

    // The first checkpoint waits for its own write, the others for that of the one before.
    const auto m = timing.mtbf_s();
    const auto first_s = m * std::exp(timing.restart_s() / m) *
                         std::expm1((c.interval_s + timing.cost_s() + timing.background_s()) / m);
    const auto other_s = checkpoint::stretch(timing, c.interval_s) * c.interval_s;
    const auto expected_s = first_s + other_s * static_cast<double>(c.checkpoints - 1);
    CHECK_THAT(walls.mean(), WithinAbs(expected_s, 3 * walls.standard_error()));
    CHECK(walls.standard_error() < 0.05 * expected_s);
}

TEST_CASE("failures come once in an MTBF, bursty or not", "[checkpoint][simulate]") {
    const auto shape = GENERATE(0.5, 0.63, 1.0, 2.0, 5.0);
    CAPTURE(shape);
    const auto timing = Timing::make({3600, 1, 0, 0}).value();
    Mean rates;
    for (std::uint64_t run = 0; run < 500; ++run) {
        const auto result = checkpoint::simulate_run(timing, {60, 60'000, shape, 3}, run);
        rates.add(static_cast<double>(result.failures) / result.wall_s);
    }
    // Some 1000 failures a run: what the first gap adds to the mean of a burst is 1 in 1000.
    CHECK_THAT(rates.mean() * 3600, WithinAbs(1, 2e-3 + 3 * rates.standard_error() * 3600));
}

TEST_CASE("a seed gives the same run everywhere", "[checkpoint][simulate]") {
    const auto timing = Timing::make({3600, 60, 300, 30}).value();
    const Experiment experiment{600, 100, 1, 42};
    const auto run = checkpoint::simulate_run(timing, experiment, 5);
    // As reckoned when the test was written; only the last digits of log() may differ.
    CHECK_THAT(run.wall_s, WithinRel(85653.1729735356, 1e-9));
    CHECK(run.failures == 35);

    const auto again = checkpoint::simulate_run(timing, experiment, 5);
    CHECK(run.wall_s == again.wall_s);
    CHECK(run.wall_s != checkpoint::simulate_run(timing, experiment, 6).wall_s);
    const Experiment other{600, 100, 1, 43};
    CHECK(run.wall_s != checkpoint::simulate_run(timing, other, 5).wall_s);
}

TEST_CASE("a run that nothing happens to takes its work and its checkpoints",
          "[checkpoint][simulate]") {
    const auto timing = Timing::make({1e11, 60, 300, 30}).value();
    const auto run = checkpoint::simulate_run(timing, {600, 10, 1, 1}, 0);
    CHECK(run.failures == 0);
    CHECK(run.wall_s == 6630);
}

TEST_CASE("the optimum is the best of those simulated", "[checkpoint][simulate]") {
    const auto timing = Timing::make({20000, 100, 300, 0}).value();
    const auto trials =
        all_of(timing, {.chosen_s = checkpoint::optimum_s(timing), .own_s = 10000, .runs = 1000});
    REQUIRE(trials.trials().size() == 8);
    CHECK(trials.better_than_chosen() == nullptr);
    for (const auto& trial : trials.trials()) {
        CAPTURE(trial.experiment.interval_s);
        CHECK_THAT(trial.stretch.mean(),
                   WithinAbs(trial.formula, 3 * trial.stretch.standard_error()));
        const bool is_chosen = &trial == trials.trials().data();
        CHECK((trial.excess.mean() > 3 * trial.excess.standard_error()) == !is_chosen);
    }
}

TEST_CASE("an interval that is off is told from simulated runs", "[checkpoint][simulate]") {
    const auto timing = Timing::make({20000, 100, 300, 0}).value();
    const auto trials =
        all_of(timing, {.chosen_s = checkpoint::optimum_s(timing) / 4, .runs = 500});
    REQUIRE(trials.better_than_chosen() != nullptr);
    CHECK(trials.better_than_chosen()->experiment.interval_s == checkpoint::optimum_s(timing));
}

TEST_CASE("under bursts the formula loses, and the simulation says so", "[checkpoint][simulate]") {
    // Most failures strike soon after another: fewer checkpoints are lost work, and longer
    // intervals pay.
    const auto timing = Timing::make({20000, 600, 60, 0}).value();
    const auto trials =
        all_of(timing, {.chosen_s = checkpoint::optimum_s(timing), .shape = 0.3, .runs = 2000});
    REQUIRE(trials.better_than_chosen() != nullptr);
    CHECK(trials.better_than_chosen()->experiment.interval_s > checkpoint::optimum_s(timing));
    const auto& chosen = trials.trials().front();
    CHECK(chosen.stretch.mean() < chosen.formula - 3 * chosen.stretch.standard_error());
}

TEST_CASE("what cannot be simulated is refused", "[checkpoint][simulate][errors]") {
    const auto timing = Timing::make({3600, 60, 300, 0}).value();
    struct Case {
        const char* why;
        Experiment experiment;
        const char* expected;
    };
    const auto c = GENERATE(values<Case>({
        {"no interval", {0, 1, 1, 1}, "an interval of 0 s"},
        {"no checkpoint", {60, 0, 1, 1}, "no checkpoints"},
        {"too bursty", {60, 1, 0.1, 1}, "a Weibull shape of 0.1"},
        {"no shape", {60, 1, NAN, 1}, "a Weibull shape of nan"},
        {"never ending", {1e6, 10, 1, 1}, "too long to simulate"},
        {"hardly ending", {36000, 1000, 1, 1}, "too long to simulate"},
    }));
    CAPTURE(c.why);
    const auto checked = checkpoint::check_experiment(timing, c.experiment);
    REQUIRE_FALSE(checked);
    CHECK_THAT(checked.error().message, ContainsSubstring(c.expected));
}

TEST_CASE("trials that would take for ever are refused, or left out",
          "[checkpoint][simulate][errors]") {
    const auto timing = Timing::make({3600, 60, 300, 0}).value();
    CHECK_FALSE(checkpoint::Trials::make(timing, {.chosen_s = 600, .runs = 0}));
    const auto many = checkpoint::Trials::make(timing, {.chosen_s = 600, .runs = 100'000'000});
    REQUIRE_FALSE(many);
    CHECK_THAT(many.error().message, ContainsSubstring("ask for fewer runs"));

    const auto hopeless =
        checkpoint::Trials::make(timing, {.chosen_s = 600, .own_s = 1e6, .runs = 10}).value();
    CHECK(hopeless.trials().size() == 7);
}

TEST_CASE("means and their errors", "[checkpoint][simulate]") {
    Mean mean;
    CHECK(mean.standard_error() == 0);
    for (const auto value : {1.0, 2.0, 3.0, 4.0}) {
        mean.add(value);
    }
    CHECK(mean.count() == 4);
    CHECK(mean.mean() == 2.5);
    CHECK_THAT(mean.standard_error(), WithinRel(std::sqrt(5.0 / 3 / 4), 1e-12));
}
