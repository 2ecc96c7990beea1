#include "checkpoint/levels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "checkpoint/interval.hpp"
#include "checkpoint/simulate.hpp"
#include "support/catch.hpp"

namespace checkpoint = railhead::checkpoint;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using checkpoint::Pattern;
using checkpoint::TwoLevels;

namespace {

double stretch_of(const TwoLevels& levels, const Pattern& pattern) {
    return checkpoint::stretch(levels, pattern).value();
}

/// One pattern of work walked through event by event, without any of the formulas.
double walk(const TwoLevels& levels, const Pattern& pattern, std::mt19937_64& random) {
    const auto gap = [&](double mean_s) {
        return -mean_s * std::log((static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53);
    };
    double now_s = 0;
    std::uint64_t done = 0;
    double wait_s = 0;         // the restart that has to be waited for
    bool from_storage = true;  // of that restart
    while (done < pattern.memory_per_storage) {
        const bool last = done + 1 == pattern.memory_per_storage;
        const auto span_s = wait_s > 0 ? wait_s
                                       : pattern.interval_s + levels.memory_cost_s +
                                             (last ? levels.storage_cost_s : 0);
        const auto process_s = gap(levels.process_mtbf_s);
        const auto node_s = gap(levels.node_mtbf_s);
        if (std::min(process_s, node_s) >= span_s) {
            now_s += span_s;
            done += wait_s > 0 ? 0 : 1;
            wait_s = 0;
            continue;
        }
        now_s += std::min(process_s, node_s);
        // While memory is filled again from storage there is no copy in it to return to.
        from_storage = node_s < process_s || (wait_s > 0 && from_storage);
        done = from_storage ? 0 : done;
        wait_s = from_storage ? levels.storage_restart_s : levels.memory_restart_s;
    }
    return now_s;
}

}  // namespace

TEST_CASE("without failures of processes, two levels are one", "[checkpoint][levels]") {
    const TwoLevels levels{1e11, 3600, 2, 58, 30, 300};
    const auto timing = checkpoint::Timing::make({3600, 60, 300, 0}).value();
    for (const auto interval_s : {10.0, 600.0, 5000.0}) {
        CAPTURE(interval_s);
        CHECK_THAT(stretch_of(levels, {interval_s, 1}),
                   WithinRel(checkpoint::stretch(timing, interval_s), 1e-6));
    }
}

TEST_CASE("without failures of nodes, memory is all that counts", "[checkpoint][levels]") {
    // One copy on storage among so many that it costs nothing.
    const TwoLevels levels{3600, 1e11, 5, 60, 30, 300};
    const auto timing = checkpoint::Timing::make({3600, 5, 30, 0}).value();
    CHECK_THAT(stretch_of(levels, {180, 100'000}),
               WithinRel(checkpoint::stretch(timing, 180), 1e-3));
}

TEST_CASE("the expectation is that of patterns walked by chance", "[checkpoint][levels]") {
    struct Case {
        const char* why;
        TwoLevels levels;
        Pattern pattern;
    };
    const auto c = GENERATE(values<Case>({
        {"few failures", {20000, 80000, 5, 120, 60, 600}, {600, 8}},
        {"many of processes", {1000, 20000, 5, 120, 60, 600}, {200, 5}},
        {"many of nodes", {20000, 2000, 5, 120, 60, 600}, {400, 2}},
        {"each to storage", {3000, 5000, 5, 120, 60, 600}, {400, 1}},
        {"long restarts", {3000, 5000, 5, 60, 1500, 2500}, {400, 3}},
    }));
    CAPTURE(c.why);
    std::mt19937_64 random{11};
    checkpoint::Mean walls;
    for (int i = 0; i < 20'000; ++i) {
        walls.add(walk(c.levels, c.pattern, random));
    }
    const auto work_s = c.pattern.interval_s * static_cast<double>(c.pattern.memory_per_storage);
    CHECK_THAT(walls.mean() / work_s,
               WithinAbs(stretch_of(c.levels, c.pattern), 3 * walls.standard_error() / work_s));
}

TEST_CASE("no pattern nearby beats the best", "[checkpoint][levels]") {
    const auto levels = GENERATE(values<TwoLevels>({
        {40'000, 120'000, 2, 180, 60, 300},
        {3600, 360'000, 1, 300, 30, 300},
        {360'000, 3600, 1, 300, 30, 300},
        {600, 600, 30, 60, 30, 300},
        {1e6, 1e6, 1e-3, 1000, 1, 1000},
    }));
    CAPTURE(levels.process_mtbf_s, levels.node_mtbf_s);
    const auto best = checkpoint::best_pattern(levels).value();
    const auto least = stretch_of(levels, best);
    for (const auto factor : {0.5, 0.9, 1.0, 1.1, 2.0}) {
        for (const auto copies : {-10, -1, 0, 1, 10}) {
            const auto k = static_cast<std::int64_t>(best.memory_per_storage) + copies;
            if (k >= 1 && (factor != 1 || copies != 0)) {
                CAPTURE(factor, k);
                CHECK(stretch_of(levels, {best.interval_s * factor,
                                          static_cast<std::uint64_t>(k)}) >= least * (1 - 1e-9));
            }
        }
    }
}

TEST_CASE("a second level in memory loses less than storage alone", "[checkpoint][levels]") {
    // Seven failures in ten leave memory whole.
    const auto mtbf_s = 28.8 * 3600;
    const TwoLevels levels{mtbf_s / 0.7, mtbf_s / 0.3, 2, 196, 300, 300};
    const auto timing = checkpoint::Timing::make({mtbf_s, 196, 300, 0}).value();
    const auto best = checkpoint::best_pattern(levels).value();
    CHECK(best.memory_per_storage > 1);
    CHECK(stretch_of(levels, best) < checkpoint::stretch(timing, checkpoint::optimum_s(timing)));
}

TEST_CASE("patterns that mean nothing are refused", "[checkpoint][levels][errors]") {
    const TwoLevels good{3600, 36000, 1, 60, 30, 300};
    CHECK(checkpoint::stretch(good, {600, 5}));
    CHECK_FALSE(checkpoint::stretch(good, {0, 5}));
    CHECK_FALSE(checkpoint::stretch(good, {NAN, 5}));
    CHECK_FALSE(checkpoint::stretch(good, {600, 0}));
    CHECK_FALSE(checkpoint::stretch(good, {600, 100'001}));
    auto bad = good;
    bad.memory_cost_s = 0;
    CHECK_FALSE(checkpoint::stretch(bad, {600, 5}));
    CHECK_FALSE(checkpoint::best_pattern(bad));
    bad = good;
    bad.node_mtbf_s = -1;
    CHECK_FALSE(checkpoint::best_pattern(bad));
}

TEST_CASE("what never ends is infinite", "[checkpoint][levels]") {
    const TwoLevels hopeless{1, 1, 1, 60, 1e6, 1e6};
    CHECK(std::isinf(stretch_of(hopeless, {1e5, 3})));
}
