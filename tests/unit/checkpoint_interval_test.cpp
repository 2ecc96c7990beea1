#include "checkpoint/interval.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "checkpoint/ettr.hpp"
#include "support/catch.hpp"

namespace checkpoint = railhead::checkpoint;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using checkpoint::Timing;

namespace {

Timing timing_of(double cost_s, double mtbf_s, double restart_s = 0, double background_s = 0) {
    return Timing::make({mtbf_s, cost_s, restart_s, background_s}).value();
}

/// Costs from a billionth of the MTBF to a hundred of it.
std::vector<Timing> all_ratios() {
    std::vector<Timing> timings;
    for (double ratio = 1e-9; ratio < 200; ratio *= 10) {
        timings.push_back(timing_of(3600 * ratio, 3600, 300));
    }
    return timings;
}

}  // namespace

TEST_CASE("no interval beats the optimum", "[checkpoint]") {
    for (const auto& timing : all_ratios()) {
        CAPTURE(timing.cost_s());
        const auto best_s = checkpoint::optimum_s(timing);
        const auto least = checkpoint::stretch(timing, best_s);
        for (const auto factor : {0.01, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 100.0}) {
            CAPTURE(factor);
            CHECK(checkpoint::stretch(timing, best_s * factor) > least);
        }
        for (const auto other_s : {checkpoint::young_s(timing), checkpoint::daly_s(timing)}) {
            CHECK(checkpoint::stretch(timing, other_s) >= least * (1 - 1e-14));
        }
    }
}

TEST_CASE("the optimum is Lambert's function of the cost", "[checkpoint]") {
    // With W = τ / M - 1, W exp(W) = -exp(-δ / M - 1).
    for (const auto& timing : all_ratios()) {
        CAPTURE(timing.cost_s());
        const auto w = checkpoint::optimum_s(timing) / timing.mtbf_s() - 1;
        const auto argument = -std::exp(-timing.cost_s() / timing.mtbf_s() - 1);
        CHECK_THAT(w * std::exp(w), WithinAbs(argument, 1e-15));
        CHECK(w <= 0);
    }
}

TEST_CASE("cheap checkpoints are Young's", "[checkpoint]") {
    const auto timing = timing_of(1e-5, 1e7);
    CHECK_THAT(checkpoint::optimum_s(timing), WithinRel(checkpoint::young_s(timing), 1e-6));
    CHECK_THAT(checkpoint::daly_s(timing), WithinRel(checkpoint::optimum_s(timing), 1e-9));
}

TEST_CASE("dear checkpoints are written once in an MTBF", "[checkpoint]") {
    CHECK_THAT(checkpoint::optimum_s(timing_of(36000, 3600)), WithinRel(3600.0, 1e-4));
    CHECK(checkpoint::daly_s(timing_of(7200, 3600)) == 3600);
    CHECK(checkpoint::daly_first_order_s(timing_of(7201, 3600)) < 0);
}

TEST_CASE("Daly's interval is as near to the optimum as its docs say", "[checkpoint]") {
    const auto off = [](double ratio) {
        const auto timing = timing_of(3600 * ratio, 3600);
        return checkpoint::daly_s(timing) / checkpoint::optimum_s(timing) - 1;
    };
    for (double ratio = 1e-6; ratio <= 1.0 / 6; ratio *= 1.5) {
        CAPTURE(ratio);
        CHECK_THAT(off(ratio), WithinAbs(0, 1e-3));
    }
    CHECK_THAT(off(1), WithinAbs(-0.018, 1e-3));
    CHECK_THAT(off(2), WithinAbs(0.055, 1e-3));
}

TEST_CASE("Young's interval is as long as its docs say", "[checkpoint]") {
    const auto off = [](double ratio) {
        const auto timing = timing_of(3600 * ratio, 3600);
        return checkpoint::young_s(timing) / checkpoint::optimum_s(timing) - 1;
    };
    CHECK(off(1.0 / 2500) < 0.01);
    CHECK_THAT(off(1.0 / 300), WithinAbs(0.03, 0.005));
    CHECK_THAT(off(1.0 / 3), WithinAbs(0.34, 0.005));
}

TEST_CASE("the optimum grows with cost and with MTBF", "[checkpoint]") {
    double last_s = 0;
    for (double cost_s = 1e-3; cost_s < 1e6; cost_s *= 3) {
        CHECK(checkpoint::optimum_s(timing_of(cost_s, 3600)) > last_s);
        last_s = checkpoint::optimum_s(timing_of(cost_s, 3600));
    }
    last_s = 0;
    for (double mtbf_s = 1; mtbf_s < 1e9; mtbf_s *= 3) {
        CHECK(checkpoint::optimum_s(timing_of(60, mtbf_s)) > last_s);
        last_s = checkpoint::optimum_s(timing_of(60, mtbf_s));
    }
}

TEST_CASE("neither a restart nor a write in the background moves the optimum", "[checkpoint]") {
    const auto plain = timing_of(60, 3600);
    const auto slow = timing_of(60, 3600, 900, 120);
    CHECK(checkpoint::optimum_s(plain) == checkpoint::optimum_s(slow));
    CHECK(checkpoint::stretch(slow, 900) > checkpoint::stretch(plain, 900));
    CHECK_THAT(checkpoint::stretch(slow, 900),
               WithinRel(checkpoint::stretch(timing_of(60, 3600, 1020), 900), 1e-12));
}

TEST_CASE("the shares of the time add up", "[checkpoint]") {
    for (const auto& timing : all_ratios()) {
        for (const auto interval_s : {1e-3, 60.0, 3600.0, 1e5, 1e9}) {
            CAPTURE(timing.cost_s(), interval_s);
            const auto shares = checkpoint::shares_of(timing, interval_s);
            CHECK(shares.useful >= 0);
            CHECK(shares.useful < 1);
            CHECK(shares.checkpoints >= 0);
            CHECK(shares.failures >= 0);
            CHECK_THAT(shares.useful + shares.checkpoints + shares.failures, WithinAbs(1, 1e-9));
        }
    }
}

TEST_CASE("what never ends is lost whole, and is no error", "[checkpoint]") {
    const auto timing = timing_of(60, 1);
    CHECK(std::isinf(checkpoint::stretch(timing, 1e4)));
    CHECK(checkpoint::shares_of(timing, 1e4).waste() == 1);
    for (const auto interval_s : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        CAPTURE(interval_s);
        CHECK(checkpoint::shares_of(timing, interval_s).waste() == 1);
        CHECK(checkpoint::ettr_v1(timing, interval_s) == 0);
        CHECK(checkpoint::ettr_v2(timing, interval_s) == 0);
    }
}

TEST_CASE("the linear ETTR is never negative, and the renewal form is above 0 where it is 0",
          "[checkpoint]") {
    const auto timing = timing_of(60, 600, 300);
    CHECK(checkpoint::ettr_v1(timing, 900) == 0);
    CHECK(checkpoint::ettr_v2(timing, 900) == 0);
    CHECK(checkpoint::ettr_renewal(timing, 900) > 0.1);
}

TEST_CASE("the forms of ETTR agree where failures are rare", "[checkpoint]") {
    const auto timing = timing_of(10, 1e7, 300);
    const auto interval_s = checkpoint::optimum_s(timing);
    CHECK_THAT(checkpoint::ettr_renewal(timing, interval_s),
               WithinAbs(checkpoint::ettr_v2(timing, interval_s), 1e-5));
}

TEST_CASE("the cost curve runs from end to end with its least near the optimum", "[checkpoint]") {
    const auto timing = timing_of(300, 86400, 300);
    const auto curve = checkpoint::cost_curve(timing, 60, 1e6, 501);
    REQUIRE(curve.size() == 501);
    CHECK_THAT(curve.front().interval_s, WithinRel(60.0, 1e-9));
    CHECK_THAT(curve.back().interval_s, WithinRel(1e6, 1e-9));
    auto least = curve.front();
    for (const auto& point : curve) {
        least = point.waste < least.waste ? point : least;
    }
    CHECK_THAT(least.interval_s, WithinRel(checkpoint::optimum_s(timing), 0.02));
}

TEST_CASE("facts that no model can work with are refused", "[checkpoint][errors]") {
    struct Case {
        const char* why;
        checkpoint::TimingFacts facts;
        const char* expected;
    };
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    const auto c = GENERATE_COPY(values<Case>({
        {"no MTBF", {0, 1, 1, 0}, "an MTBF of 0 s"},
        {"an infinite MTBF", {INFINITY, 1, 1, 0}, "an MTBF of inf s"},
        {"no cost", {1, 0, 1, 0}, "a checkpoint cost of 0 s"},
        {"a cost that is no number", {1, nan, 1, 0}, "a checkpoint cost of nan s"},
        {"a negative restart", {1, 1, -1, 0}, "a restart time of -1 s"},
        {"a negative background", {1, 1, 1, -1}, "a write in the background of -1 s"},
    }));
    CAPTURE(c.why);

    const auto timing = Timing::make(c.facts);

    REQUIRE_FALSE(timing);
    CHECK(timing.error().code == railhead::Errc::bad_input);
    CHECK_THAT(timing.error().message, ContainsSubstring(c.expected));
}
