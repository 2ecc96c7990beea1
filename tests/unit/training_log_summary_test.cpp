// What is made of a training log: the usual step, where it changed, slow steps, hangs.
#include "training/log_summary.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/training_logs.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using railhead::test::megatron_line;
using railhead::test::read_log;
using railhead::test::summary_of;

namespace {

/// A log of these step times, ms.
std::string log_of(const std::vector<double>& steps_ms, int first = 1) {
    std::string text;
    for (std::size_t i = 0; i < steps_ms.size(); ++i) {
        text += megatron_line(first + static_cast<int>(i), steps_ms[i]);
    }
    return text;
}

/// Step times around 1000 ms, seeded.
std::vector<double> noisy(unsigned seed, std::size_t count, double noise) {
    std::mt19937 random{seed};
    std::normal_distribution<double> normal{1000, 1000 * noise};
    std::vector<double> steps;
    for (std::size_t i = 0; i < count; ++i) {
        steps.push_back(normal(random));
    }
    return steps;
}

}  // namespace

TEST_CASE("warm-up steps are left out", "[training][log]") {
    const auto summary = summary_of(read_log(log_of({9000, 1500, 1000, 1010, 990, 1000})));

    CHECK(summary.warm_up == 2);
    CHECK(summary.timed == 4);
    CHECK_THAT(summary.time.median, WithinRel(1.0, 1e-9));
}

TEST_CASE("a first step as fast as the others is no warm-up", "[training][log]") {
    CHECK(summary_of(read_log(log_of({1000, 1010, 990, 1000}))).warm_up == 0);
}

TEST_CASE("steps after a validation or a checkpoint are no usual steps", "[training][log]") {
    const auto text =
        log_of({1000, 1000, 1000}) + " validation loss at iteration 3 | lm loss value: 2.3 |\n" +
        log_of({9000, 1000, 1000}, 4) + "  saving checkpoint at iteration       6 to /ckpt\n" +
        log_of({5000, 1000}, 7);

    const auto summary = summary_of(read_log(text));

    CHECK(summary.validation.count == 1);
    CHECK_THAT(summary.validation.time, WithinRel(9.0, 1e-9));
    CHECK(summary.checkpoint.count == 1);
    CHECK_THAT(summary.checkpoint.time, WithinRel(5.0, 1e-9));
    CHECK(summary.slow.count == 0);
    CHECK(summary.timed == 6);
}

TEST_CASE("a change of level is found where it is", "[training][log]") {
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
        auto steps = noisy(seed, 200, 0.01);
        for (std::size_t i = 120; i < steps.size(); ++i) {
            steps[i] *= 1.05;
        }
        CAPTURE(seed);

        const auto summary = summary_of(read_log(log_of(steps)));

        REQUIRE(summary.shifts.size() == 1);
        CHECK_THAT(static_cast<double>(summary.shifts[0].settled), WithinAbs(121, 3));
        CHECK_THAT(summary.shifts[0].change(), WithinAbs(0.05, 0.005));
        CHECK(summary.levels.size() == 2);
        CHECK(summary.trend_share == 0);
    }
}

TEST_CASE("healthy noise has no change, no trend and no period", "[training][log]") {
    int alarms = 0;
    constexpr unsigned logs = 300;
    for (unsigned seed = 1; seed <= logs; ++seed) {
        const auto count = std::size_t{5} + seed % 60;
        const double noise = seed % 2 == 0 ? 0.003 : 0.01;
        const auto summary = summary_of(read_log(log_of(noisy(seed, count, noise))));
        alarms += summary.shifts.empty() && summary.trend_share == 0 && !summary.slow.every ? 0 : 1;
    }
    CHECK(alarms <= 3);  // 1 %
}

TEST_CASE("a run that gets slower bit by bit has a trend, not a change", "[training][log]") {
    auto steps = noisy(7, 300, 0.003);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        steps[i] *= 1 + 0.1 * static_cast<double>(i) / 299;
    }

    const auto summary = summary_of(read_log(log_of(steps)));

    CHECK(summary.shifts.empty());
    // 10 % from the first to the last, of a median in the middle.
    CHECK_THAT(summary.trend_share, WithinAbs(0.1 / 1.05, 0.01));
}

TEST_CASE("slow steps at even distances are told with their distance and cost", "[training][log]") {
    auto steps = noisy(3, 400, 0.003);
    for (std::size_t i = 49; i < steps.size(); i += 50) {
        steps[i] = 3000;
    }

    const auto summary = summary_of(read_log(log_of(steps)));

    CHECK(summary.slow.count == 8);
    CHECK(summary.slow.every == 50.0);
    // 8 steps lose 2 s each, of 392 s and 24 s.
    CHECK_THAT(summary.slow.lost_share, WithinAbs(16.0 / 416, 0.001));
    CHECK(summary.shifts.empty());
}

TEST_CASE("a hole in the numbers of the steps is no change", "[training][log]") {
    const auto summary = summary_of(
        read_log(log_of({1000, 1001, 999, 1000, 1000}) + log_of({1100, 1101, 1099}, 900)));

    CHECK(summary.shifts.empty());
    REQUIRE(summary.levels.size() == 2);
    CHECK(summary.levels[1].first == 900);
    CHECK_THAT(summary.levels[1].time, WithinRel(1.1, 1e-9));
}

TEST_CASE("a run without a step for long hangs, and one that is over does not", "[training][log]") {
    const auto step = "[2025-01-01 10:00:00]" + megatron_line(5, 1000);
    const std::string later = "[2025-01-01 11:00:00] still here\n";

    const auto hangs = summary_of(read_log(step + later));
    REQUIRE(hangs.hang.has_value());
    CHECK(hangs.hang->certain());
    CHECK(hangs.hang->silent_s == 3600.0);
    CHECK(hangs.hang->last_iteration == 5);

    const auto over =
        summary_of(read_log("[2025-01-01 10:00:00]" + megatron_line(100000, 1000) + later));
    CHECK_FALSE(over.hang.has_value());

    const auto soon = summary_of(read_log(step + "[2025-01-01 10:00:30] still here\n"));
    CHECK_FALSE(soon.hang.has_value());

    const auto after_validation = summary_of(read_log(
        megatron_line(5, 1000) + " validation loss at iteration 5 | lm loss value: 2 |\n"));
    REQUIRE(after_validation.hang.has_value());
    CHECK_FALSE(after_validation.hang->certain());  // it may have been cut here
}

TEST_CASE("a loss that jumps is told, and whether it came back", "[training][log]") {
    std::string text;
    const std::vector<double> losses{2.7, 2.71, 2.69, 2.7, 7.3, 6.0, 2.75, 2.7};
    for (std::size_t i = 0; i < losses.size(); ++i) {
        text += megatron_line(static_cast<int>(i) + 1, 1000, losses[i]);
    }

    const auto summary = summary_of(read_log(text));

    REQUIRE(summary.spikes.size() == 1);
    CHECK(summary.spikes[0].iteration == 5);
    CHECK_THAT(summary.spikes[0].before, WithinAbs(2.7, 1e-6));
    CHECK_THAT(summary.spikes[0].loss, WithinAbs(7.3, 1e-6));
    CHECK(summary.spikes[0].recovered == 7U);
}

TEST_CASE("the run that is looked at is the last with a few steps", "[training][log]") {
    const auto log =
        read_log(log_of({1000, 1000, 1000, 1000}) + log_of({2000, 2000, 2000}) + log_of({3000}));

    REQUIRE(log.runs.size() == 3);
    CHECK(training::choose_run(log) == 1U);
    CHECK_FALSE(training::choose_run(read_log("")).has_value());
}

TEST_CASE("batch and sequence length follow from what was consumed", "[training][log]") {
    const auto log = read_log(
        "iteration 10/ 99 | consumed samples: 2560 | consumed tokens: 5242880 | elapsed time per "
        "iteration (s): 1.0 |\niteration 20/ 99 | consumed samples: 5120 | consumed tokens: "
        "10485760 | elapsed time per iteration (s): 1.0 |\n");

    CHECK(training::batch_of(log.runs.at(0))->value == 256);
    CHECK(training::sequence_of(log.runs.at(0))->value == 2048);
}

TEST_CASE("the trend is Theil's and Sen's, its doubt Mann's and Kendall's", "[training][log]") {
    // By hand: 1 2 3 4 5 6 7 9 has 28 pairs, all rising: S = 28, variance 8 * 7 * 21 / 18 = 65.33,
    // z = 27 / 8.083 = 3.3404, p = 0.000837.
    const std::vector<double> rising{1, 2, 3, 4, 5, 6, 7, 9};
    const auto trend = training::trend_of(rising).value();
    CHECK_THAT(trend.slope, WithinAbs(1, 1e-12));
    CHECK_THAT(trend.p_value, WithinAbs(0.000837, 1e-6));

    const std::vector<double> flat(20, 3.0);
    CHECK(training::trend_of(flat)->p_value == 1);
    CHECK_FALSE(training::trend_of(std::vector<double>{1, 2, 3}).has_value());
}

TEST_CASE("quartiles are interpolated", "[training][log]") {
    const auto quartiles = training::quartiles_of(std::vector<double>{4, 1, 3, 2});
    CHECK(quartiles.q1 == 1.75);
    CHECK(quartiles.median == 2.5);
    CHECK(quartiles.q3 == 3.25);
    CHECK(training::quartiles_of({}).median == 0);
}
