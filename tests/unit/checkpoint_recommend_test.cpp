#include "checkpoint/recommend.hpp"

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "support/questions.hpp"

namespace checkpoint = railhead::checkpoint;
using Catch::Matchers::WithinRel;
using checkpoint::Question;
using railhead::test::daly;

namespace {

checkpoint::Recommendation answer(const Question& question) {
    const auto recommendation = checkpoint::recommend(question);
    if (!recommendation) {
        FAIL(recommendation.error().message);
    }
    return *recommendation;
}

/// 128 nodes of which nothing else is known; 980 GB at 5 GB/s.
Question large() {
    Question question;
    question.nodes = 128;
    question.params = 70e9;
    question.bytes_per_s = 5e9;
    return question;
}

const checkpoint::Assumption* assumption(const checkpoint::Recommendation& about,
                                         std::string_view what) {
    const auto at = std::ranges::find(about.assumptions, what, &checkpoint::Assumption::what);
    return at == about.assumptions.end() ? nullptr : &*at;
}

bool has_note(const checkpoint::Recommendation& about, const std::string& part) {
    return std::ranges::any_of(
        about.notes, [&](const auto& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("5 min and a day make 116.7 min", "[checkpoint][recommend]") {
    const auto about = answer(daly());
    CHECK_THAT(about.chosen.interval_s / 60, WithinRel(116.69, 1e-4));
    CHECK(about.failures.expected == 1);
    CHECK_THAT(about.failures.none_chance, WithinRel(std::exp(-1.0), 1e-12));
    REQUIRE(about.assumptions.size() == 1);
    CHECK(assumption(about, "restart time")->is_guess);
}

TEST_CASE("what is not given is filled in once, and called a guess", "[checkpoint][recommend]") {
    auto question = large();
    question.node_bytes_per_s = 1e9;
    question.nodes.reset();
    question.gpus = 1020;
    const auto about = answer(question);
    CHECK(about.failures.nodes == 128U);  // the last one with 4 GPUs
    CHECK_THAT(about.failures.mtbf_s, WithinRel(24 / (128 * 6.5e-3) * 3600, 1e-12));
    CHECK_THAT(about.checkpoint.bytes.value(), WithinRel(980e9, 1e-12));
    CHECK_THAT(about.timing.cost_s(), WithinRel(196.0, 1e-12));
    for (const auto* what : {"GPUs a node", "failure rate", "bytes a parameter", "restart time"}) {
        CAPTURE(what);
        REQUIRE(assumption(about, what) != nullptr);
        CHECK(assumption(about, what)->is_guess);
        CHECK_FALSE(assumption(about, what)->source.empty());
    }
    CHECK(about.assumptions.size() == 4);
}

TEST_CASE("what has a name is told with its source, but is no guess", "[checkpoint][recommend]") {
    auto question = large();
    question.published_rate = checkpoint::find_rate("llama-3");
    question.per_1000_node_days = question.published_rate->per_1000_node_days;
    question.recipe = checkpoint::find_recipe("adam-fp32");
    question.bytes_per_param = question.recipe->in_checkpoint();
    question.restart_s = 60;
    const auto about = answer(question);
    REQUIRE(assumption(about, "failure rate") != nullptr);
    CHECK_FALSE(assumption(about, "failure rate")->is_guess);
    CHECK_FALSE(assumption(about, "bytes a parameter")->is_guess);
    CHECK(about.assumptions.size() == 2);
    CHECK_THAT(about.checkpoint.bytes.value(), WithinRel(840e9, 1e-12));
}

TEST_CASE("failures that were counted count, on as many nodes as they were",
          "[checkpoint][recommend]") {
    Question question;
    question.cost_s = 60;
    question.failures = 419;
    question.observed_s = 54 * 86400.0;
    CHECK_THAT(answer(question).failures.mtbf_s, WithinRel(3.093 * 3600, 1e-3));

    question.observed_nodes = 2048;
    question.nodes = 1024;
    const auto half = answer(question);
    CHECK_THAT(half.failures.mtbf_s, WithinRel(2 * 3.093 * 3600, 1e-3));
    REQUIRE(half.failures.estimate);
    CHECK(half.failures.estimate->low_s < half.failures.mtbf_s);
    CHECK(half.failures.estimate->high_s.value() > half.failures.mtbf_s);

    question.failures = 0;
    const auto none = answer(question);
    CHECK_THAT(none.failures.mtbf_s, WithinRel(4 * 54 * 86400.0, 1e-12));
    CHECK_THAT(none.failures.from, ContainsSubstring("half a failure"));
}

TEST_CASE("a stall leaves the rest of the write in the background", "[checkpoint][recommend]") {
    auto question = large();
    question.cost_s = 6;
    const auto about = answer(question);
    CHECK(about.timing.cost_s() == 6);
    CHECK_THAT(about.timing.background_s(), WithinRel(190.0, 1e-12));
    CHECK_THAT(about.checkpoint.needed_bytes_per_s.value(), WithinRel(5e9, 1e-12));
    CHECK(about.chosen.interval_s == about.optimum_s);
    CHECK(about.chosen.interval_s < answer(large()).chosen.interval_s);
    CHECK(about.chosen.shares.useful > answer(large()).chosen.shares.useful);

    question.cost_s = 300;  // measured, and longer than the bandwidth says
    CHECK(answer(question).timing.background_s() == 0);
}

TEST_CASE("no interval is shorter than its write in the background", "[checkpoint][recommend]") {
    auto question = daly();
    question.cost_s = 0.1;
    question.bytes = 1e12;
    question.bytes_per_s = 1e9;
    question.own_interval_s = 60;
    const auto about = answer(question);
    CHECK(about.reason == checkpoint::Reason::background);
    CHECK_THAT(about.chosen.interval_s, WithinRel(999.9, 1e-9));
    CHECK(about.own->interval_s == about.chosen.interval_s);
    CHECK(has_note(about, "your interval is shorter than a write"));

    question.step_s = 7;
    CHECK(answer(question).chosen.steps == 143);  // 1001 s: not less than the write
}

TEST_CASE("an interval is whole steps, one at least", "[checkpoint][recommend]") {
    auto question = daly();
    question.step_s = 12;
    CHECK(answer(question).chosen.steps == 583);
    CHECK(answer(question).chosen.interval_s == 6996);
    question.step_s = 20000;
    CHECK(answer(question).chosen.steps == 1);
}

TEST_CASE("a store that is shared is slower, and a node has its own limit",
          "[checkpoint][recommend]") {
    auto question = large();
    question.writers = 4;
    CHECK_THAT(answer(question).timing.cost_s(), WithinRel(4 * 196.0, 1e-12));
    question.node_bytes_per_s = 5e6;
    CHECK_THAT(answer(question).checkpoint.bytes_per_s.value(), WithinRel(128 * 5e6, 1e-12));
}

TEST_CASE("the price of an interval is what it loses more", "[checkpoint][recommend]") {
    auto question = daly();
    question.own_interval_s = 4 * 3600.0;
    question.time_limit_s = 7 * 86400.0;
    const auto about = answer(question);
    REQUIRE(about.own);
    CHECK(about.own->lost_s > about.chosen.lost_s);
    CHECK_THAT(about.own->lost_s, WithinRel(about.own->shares.waste() * 7 * 86400, 1e-12));

    question.own_interval_s = 1e9;
    CHECK(has_note(answer(question), "the job would never end"));
}

TEST_CASE("what should be known before is noted", "[checkpoint][recommend]") {
    auto question = daly();
    question.time_limit_s = 3600;
    CHECK(has_note(answer(question), "shorter than one interval"));
    question.time_limit_s = 36000;
    CHECK(answer(question).notes.empty());
    question.mtbf_s = 60;
    CHECK(has_note(answer(question), "more than half of the time is lost"));
}

TEST_CASE("copies in memory are reckoned beside those on storage", "[checkpoint][recommend]") {
    auto question = large();
    question.memory_cost_s = 2;
    question.process_share = 0.7;
    const auto about = answer(question);
    REQUIRE(about.levels);
    CHECK(about.levels->ettr > about.chosen.shares.useful);
    CHECK(about.levels->pattern.memory_per_storage > 1);
    CHECK_THAT(1 / about.levels->levels.process_mtbf_s + 1 / about.levels->levels.node_mtbf_s,
               WithinRel(1 / about.failures.mtbf_s, 1e-12));
}

TEST_CASE("questions without an answer are refused with what is missing",
          "[checkpoint][recommend][errors]") {
    struct Case {
        const char* why;
        void (*change)(Question&);
        const char* expected;
    };
    const auto c = GENERATE(values<Case>({
        {"no MTBF", [](Question& q) { q.mtbf_s.reset(); }, "how often the job fails"},
        {"no cost", [](Question& q) { q.cost_s.reset(); }, "what a checkpoint costs"},
        {"size without bandwidth",
         [](Question& q) {
             q.cost_s.reset();
             q.bytes = 1e12;
         },
         "what a checkpoint costs"},
        {"two MTBFs",
         [](Question& q) {
             q.nodes = 4;
             q.per_1000_node_days = 5;
         },
         "give one of them"},
        {"failures beside an MTBF", [](Question& q) { q.failures = 1; }, "give one of them"},
        {"nodes beside GPUs",
         [](Question& q) {
             q.nodes = 1;
             q.gpus = 8;
         },
         "give one of them"},
        {"failures without a time",
         [](Question& q) {
             q.mtbf_s.reset();
             q.failures = 1;
         },
         "without the time they were observed in"},
        {"a time without failures", [](Question& q) { q.observed_s = 1; }, "without the failures"},
        {"observed nodes alone", [](Question& q) { q.observed_nodes = 1; }, "without the failures"},
        {"GPUs a node alone", [](Question& q) { q.gpus_per_node = 8; }, "without the GPUs"},
        {"bytes a parameter alone", [](Question& q) { q.bytes_per_param = 8; },
         "without the parameters"},
        {"a bandwidth alone", [](Question& q) { q.bytes_per_s = 1; }, "without the size"},
        {"a node's bandwidth alone", [](Question& q) { q.node_bytes_per_s = 1; },
         "without that of the storage"},
        {"writers alone", [](Question& q) { q.writers = 2; }, "without the bandwidth"},
        {"a share alone", [](Question& q) { q.process_share = 0.5; }, "without the cost"},
        {"a restart from memory alone", [](Question& q) { q.memory_restart_s = 5; },
         "without the cost"},
        {"failures on other nodes, job unknown",
         [](Question& q) {
             q.mtbf_s.reset();
             q.failures = 1;
             q.observed_s = 1;
             q.observed_nodes = 5;
         },
         "the job's own nodes"},
        {"two sizes",
         [](Question& q) {
             q.bytes = 1;
             q.params = 1;
         },
         "give one of them"},
        {"no nodes", [](Question& q) { q.nodes = 0; }, "0 is none"},
        {"no writers", [](Question& q) { q.writers = 0; }, "0 is none"},
        {"no cost at all", [](Question& q) { q.cost_s = 0; }, "a checkpoint cost of 0 s"},
        {"a negative MTBF", [](Question& q) { q.mtbf_s = -1; }, "an MTBF of -1 s"},
        {"no step", [](Question& q) { q.step_s = 0; }, "the time of a step: 0"},
        {"no interval", [](Question& q) { q.own_interval_s = -5; }, "an interval: -5"},
        {"no time limit", [](Question& q) { q.time_limit_s = 0; }, "a time limit: 0"},
        {"no bandwidth",
         [](Question& q) {
             q.bytes = 1;
             q.bytes_per_s = 0;
         },
         "a write bandwidth of 0"},
        {"a node's bandwidth, nodes unknown",
         [](Question& q) {
             q.bytes = 1;
             q.bytes_per_s = 1;
             q.node_bytes_per_s = 1;
         },
         "where the number of nodes is known"},
        {"memory without a share", [](Question& q) { q.memory_cost_s = 1; }, "without the share"},
        {"a share of all",
         [](Question& q) {
             q.memory_cost_s = 1;
             q.process_share = 1;
         },
         "a share of 1"},
        {"copies in memory for nothing",
         [](Question& q) {
             q.memory_cost_s = 0;
             q.process_share = 0.5;
         },
         "a checkpoint cost of 0 s"},
    }));
    CAPTURE(c.why);
    auto question = daly();
    c.change(question);

    const auto recommendation = checkpoint::recommend(question);

    REQUIRE_FALSE(recommendation);
    CHECK(recommendation.error().code == railhead::Errc::bad_input);
    CHECK_THAT(recommendation.error().message, ContainsSubstring(c.expected));
}
