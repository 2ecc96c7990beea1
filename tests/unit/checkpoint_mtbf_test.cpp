#include "checkpoint/mtbf.hpp"

#include <cmath>
#include <cstdint>

#include "checkpoint/gamma.hpp"
#include "support/catch.hpp"

namespace checkpoint = railhead::checkpoint;
using Catch::Matchers::WithinRel;

TEST_CASE("the limits of a Poisson count are the tabulated ones", "[checkpoint]") {
    // Half quantiles of χ² from printed tables: the limits of k events, 95 %, two-sided.
    struct Case {
        std::uint64_t failures;
        double low, high;
    };
    const auto c = GENERATE(values<Case>({
        {1, 0.02532, 5.5716},
        {2, 0.2422, 7.2247},
        {5, 1.6235, 11.6683},
        {10, 4.7954, 18.3904},
        {50, 37.1110, 65.9188},
        {100, 81.3639, 121.6273},
    }));
    CAPTURE(c.failures);
    const auto estimate = checkpoint::estimate_mtbf(c.failures, 1000).value();
    CHECK_THAT(1000 / estimate.high_s.value(), WithinRel(c.low, 2e-4));
    CHECK_THAT(1000 / estimate.low_s, WithinRel(c.high, 2e-4));
    CHECK_THAT(estimate.mtbf_s, WithinRel(1000.0 / static_cast<double>(c.failures), 1e-12));
}

TEST_CASE("no failure seen has a lower limit only", "[checkpoint]") {
    const auto estimate = checkpoint::estimate_mtbf(0, 1000).value();
    CHECK_THAT(estimate.low_s, WithinRel(1000 / 3.68888, 1e-5));
    CHECK_FALSE(estimate.high_s);
    CHECK(estimate.mtbf_s == 2000);
}

TEST_CASE("Llama 3's rate lies between 3.44 and 4.17 failures in 1000 node-days", "[checkpoint]") {
    const auto estimate = checkpoint::estimate_mtbf(419, 54 * 86400.0).value();
    CHECK_THAT(checkpoint::rate_per_1000_node_days(estimate.high_s.value(), 2048),
               WithinRel(3.435, 1e-3));
    CHECK_THAT(checkpoint::rate_per_1000_node_days(estimate.low_s, 2048), WithinRel(4.169, 1e-3));
}

TEST_CASE("limits hold for counts of any size, and close on the rate", "[checkpoint]") {
    double last = 0;
    for (std::uint64_t failures = 1; failures <= 10'000'000; failures *= 10) {
        CAPTURE(failures);
        const auto estimate = checkpoint::estimate_mtbf(failures, 1e6).value();
        const auto ratio = estimate.low_s / estimate.high_s.value();
        CHECK(ratio > last);
        CHECK(ratio < 1);
        last = ratio;
    }
    // Normal limits at ten million: 1 ± 1.96 / sqrt(1e7).
    CHECK_THAT(last, WithinRel(1 - 2 * 1.959964 / std::sqrt(1e7), 1e-5));
}

TEST_CASE("the incomplete gamma function is a Poisson tail", "[checkpoint]") {
    for (const auto mean : {0.1, 1.0, 5.0, 30.0, 200.0}) {
        double term = std::exp(-mean);
        double below = 0;
        for (int a = 1; a < 300; ++a) {
            below += term;
            term *= mean / a;
            CAPTURE(mean, a);
            CHECK(std::abs(checkpoint::gamma_p(a, mean) - (1 - below)) < 1e-12);
        }
    }
    CHECK(checkpoint::gamma_p(3, 0) == 0);
    CHECK_THAT(checkpoint::gamma_p(0.5, 1.920729410), WithinRel(0.95, 1e-8));  // χ² of 1 degree
}

TEST_CASE("the inverse of the incomplete gamma function undoes it", "[checkpoint]") {
    for (const auto a : {0.5, 1.0, 7.0, 1000.0}) {
        for (const auto p : {1e-6, 0.025, 0.5, 0.975, 0.999999}) {
            CAPTURE(a, p);
            CHECK_THAT(checkpoint::gamma_p(a, checkpoint::gamma_p_inverse(a, p)),
                       WithinRel(p, 1e-9));
        }
    }
    CHECK(checkpoint::gamma_p_inverse(2, 0) == 0);
}

TEST_CASE("a gang of twice the nodes fails twice as often", "[checkpoint]") {
    const auto small = checkpoint::gang_mtbf_s(6.5, 128).value();
    const auto large = checkpoint::gang_mtbf_s(6.5, 256).value();
    CHECK_THAT(small, WithinRel(2 * large, 1e-12));
    CHECK_THAT(checkpoint::rate_per_1000_node_days(small, 128), WithinRel(6.5, 1e-12));
}

TEST_CASE("rates are found by name, whatever the case", "[checkpoint]") {
    REQUIRE(checkpoint::find_rate("Llama-3") != nullptr);
    CHECK(checkpoint::find_rate("Llama-3")->per_1000_node_days == 3.79);
    CHECK(checkpoint::find_rate("rsc") == nullptr);
}

TEST_CASE("what tells nothing about failures is refused", "[checkpoint][errors]") {
    CHECK_FALSE(checkpoint::gang_mtbf_s(0, 1));
    CHECK_FALSE(checkpoint::gang_mtbf_s(-1, 1));
    CHECK_FALSE(checkpoint::gang_mtbf_s(NAN, 1));
    CHECK_FALSE(checkpoint::gang_mtbf_s(INFINITY, 1));
    CHECK_FALSE(checkpoint::gang_mtbf_s(1, 0));
    CHECK_FALSE(checkpoint::estimate_mtbf(1, 0));
    CHECK_FALSE(checkpoint::estimate_mtbf(1, NAN));
    CHECK_FALSE(checkpoint::estimate_mtbf(10'000'001, 1));
    CHECK_FALSE(checkpoint::estimate_mtbf(1, 1, 0));
    CHECK_FALSE(checkpoint::estimate_mtbf(1, 1, 1));
}
