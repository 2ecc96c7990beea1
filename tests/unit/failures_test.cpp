#include "diagnose/failures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "diagnose/lemons.hpp"
#include "support/catch.hpp"

namespace diagnose = railhead::diagnose;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using diagnose::Definition;
using diagnose::JobAttempt;
using diagnose::NodeCount;
using diagnose::SlurmRecords;

namespace {

constexpr std::int64_t day = 86400;
constexpr std::int64_t start = 1'000'000;

/// Of eight GPUs a node, from `start` for a number of days.
JobAttempt attempt(std::string id, std::string nodes, std::uint64_t count, std::int64_t days,
                   std::string state = "COMPLETED") {
    JobAttempt job;
    job.id = std::move(id);
    job.node_list = std::move(nodes);
    job.nodes = count;
    job.gpus = count * 8;
    job.start_s = start;
    job.end_s = start + days * day;
    job.state = std::move(state);
    return job;
}

diagnose::NodeEvent event(std::string node, std::int64_t begin_s, std::string state = "DOWN*",
                          std::string reason = "Not responding") {
    return {std::move(node), begin_s, begin_s + 3600, std::move(state), std::move(reason), {}};
}

SlurmRecords records_of(std::vector<JobAttempt> attempts,
                        std::vector<diagnose::NodeEvent> events = {}) {
    SlurmRecords records;
    records.attempts = std::move(attempts);
    records.events = std::move(events);
    for (const auto& job : records.attempts) {
        records.latest_s = std::max(records.latest_s, job.end_s.value_or(0));
    }
    return records;
}

diagnose::FailureCount count(const SlurmRecords& records, Definition definition = Definition::rsc) {
    diagnose::CountQuestion question;
    question.definition = definition;
    return diagnose::count_failures(records, question).value();
}

/// A fleet of nodes of one exposure.  Knuth's way to a Poisson count: the same on every machine.
class Fleet {
 public:
    explicit Fleet(std::uint64_t seed) : random_{seed} {}

    std::vector<NodeCount> draw(std::size_t nodes, std::size_t lemons, double mean, double times,
                                double exposure_s) {
        std::vector<NodeCount> fleet;
        for (std::size_t i = 0; i < nodes; ++i) {
            fleet.push_back(
                {fmt::format("n{:04}", i), poisson(i < lemons ? mean * times : mean), exposure_s});
        }
        return fleet;
    }

 private:
    std::uint64_t poisson(double mean) {
        const double least = std::exp(-mean);
        std::uint64_t k = 0;
        for (double product = uniform(); product > least; product *= uniform()) {
            ++k;
        }
        return k;
    }
    double uniform() { return (static_cast<double>(random_() >> 11U) + 0.5) * 0x1p-53; }

    std::mt19937_64 random_;
};

// Meta's RSC-1: 16,000 A100 are 2,000 nodes, 6.50 failures in 1000 node-days, 11 months, 40 lemons
// (arXiv:2410.21680).
constexpr std::size_t rsc_nodes = 2000;
constexpr double rsc_rate = 6.50;
constexpr double window_days = 335;

}  // namespace

TEST_CASE("binomial tails are those of tables and of hand", "[lemons]") {
    struct Case {
        std::uint64_t k, n;
        double p, tail;
    };
    const auto c = GENERATE(values<Case>({
        {0, 10, 0.5, 1},
        {1, 10, 0.5, 1023.0 / 1024},
        {5, 10, 0.5, 638.0 / 1024},
        {9, 10, 0.5, 11.0 / 1024},
        {10, 10, 0.5, 1.0 / 1024},
        {11, 10, 0.5, 0},
        {2, 3, 0.1, 0.028},             // 3 x 0.01 x 0.9 + 0.001
        {1, 1000, 0.001, 0.632304575},  // 1 - 0.999^1000
        {4, 4, 1e-5, 1e-20},
    }));
    CAPTURE(c.k, c.n, c.p);
    CHECK_THAT(diagnose::binomial_tail(c.k, c.n, c.p),
               WithinRel(c.tail, 1e-8) || WithinAbs(c.tail, 1e-300));
}

TEST_CASE("the example of Benjamini and Hochberg has four that stand out", "[lemons]") {
    // Their fifteen p values, in another order (1995, section 4.1): at 0.05 the first four.
    const std::vector<double> chances{0.3240, 0.0001, 0.0278, 0.0004, 0.0019,
                                      0.0095, 0.0201, 0.0298, 0.0344, 0.0459,
                                      0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    const auto out = diagnose::stand_out(chances, 0.05);
    for (std::size_t i = 0; i < chances.size(); ++i) {
        CAPTURE(chances[i]);
        CHECK(out[i] == (chances[i] <= 0.0095));
    }
}

TEST_CASE("a fleet without lemons has none named in nineteen runs of twenty", "[lemons]") {
    constexpr int runs = 200;
    int clean = 0;
    for (int run = 0; run < runs; ++run) {
        Fleet fleet{static_cast<std::uint64_t>(run) + 1};
        const auto nodes =
            fleet.draw(rsc_nodes, 0, rsc_rate / 1000 * window_days, 1, window_days * day);
        clean += diagnose::find_lemons(nodes).value().lemons.empty() ? 1 : 0;
    }
    CHECK(clean >= runs * 95 / 100);
}

TEST_CASE("of 40 lemons in 2,000 nodes at ten times the rate nine in ten are found", "[lemons]") {
    // RSC-1's rate is that of the fleet with its lemons: the others fail less often.
    const double mean = rsc_rate / 1000 * window_days * 2000 / (1960 + 40 * 10);
    std::size_t found = 0;
    std::size_t wrong = 0;
    constexpr std::size_t runs = 50;
    for (std::size_t run = 0; run < runs; ++run) {
        Fleet fleet{1000 + run};
        const auto nodes = fleet.draw(rsc_nodes, 40, mean, 10, window_days * day);
        const auto told = diagnose::find_lemons(nodes).value();
        for (const auto& lemon : told.lemons) {
            (lemon.count.node < "n0040" ? found : wrong) += 1;
        }
    }
    CHECK(found >= runs * 40 * 90 / 100);
    CHECK(static_cast<double>(wrong) <= 0.05 * static_cast<double>(found + wrong));
}

TEST_CASE("exposures differ: many failures in much time make no lemon", "[lemons]") {
    std::vector<NodeCount> nodes;
    for (int i = 0; i < 100; ++i) {
        nodes.push_back({fmt::format("n{:03}", i), 1, 10.0 * day});
    }
    nodes[0] = {"n000", 12, 120.0 * day};  // the same rate
    nodes[1] = {"n001", 12, 10.0 * day};
    const auto answer = diagnose::find_lemons(nodes).value();
    REQUIRE(answer.lemons.size() == 1);
    CHECK(answer.lemons[0].count.node == "n001");
    CHECK_THAT(answer.lemons[0].per_1000_node_days, WithinRel(1200.0, 1e-12));
    // 110 failures of the others in 1100 days.
    CHECK_THAT(answer.lemons[0].rest_per_1000_node_days, WithinRel(100.0, 1e-12));
}

TEST_CASE("a short window tells how little it can find, and how long a good one is", "[lemons]") {
    Fleet fleet{7};
    const auto weeks = fleet.draw(rsc_nodes, 0, rsc_rate / 1000 * 14, 1, 14.0 * day);
    const auto year = fleet.draw(rsc_nodes, 0, rsc_rate / 1000 * window_days, 1, window_days * day);
    const auto brief = diagnose::find_lemons(weeks).value().power.value();
    const auto full = diagnose::find_lemons(year).value().power.value();
    CHECK(brief.chance < 0.1);
    CHECK(brief.times_found > 50);
    CHECK(brief.exposure_needed_s.value() > 60.0 * day);
    CHECK(full.chance > 0.9);
    CHECK(full.times_found < 10);
    // Both know the same fleet.
    CHECK_THAT(brief.exposure_needed_s.value(), WithinRel(full.exposure_needed_s.value(), 0.2));
}

TEST_CASE("without failures there are no lemons, and no power is known", "[lemons]") {
    const std::vector<NodeCount> nodes{{"a", 0, 10.0}, {"b", 0, 10.0}};
    const auto answer = diagnose::find_lemons(nodes).value();
    CHECK(answer.lemons.empty());
    CHECK_FALSE(answer.power);
    CHECK_FALSE(diagnose::find_lemons(std::vector<NodeCount>{{"a", 3, 10.0}}));
}

TEST_CASE("a failure is blamed on one node of the job, by what is known of it", "[failures]") {
    auto named = attempt("1", "n[1-4]", 4, 10, "NODE_FAIL");
    named.failed_node = "n3";
    const auto end_s = *named.end_s;
    struct Case {
        const char* why;
        SlurmRecords records;
        Definition definition;
        std::string node;  // "": of no known node; "-": no failure
    };
    const auto failed = attempt("2", "n[1-4]", 4, 10, "FAILED");
    auto brief = failed;
    brief.end_s = start + 60;
    const auto node_fail = attempt("3", "n[1-4]", 4, 10, "NODE_FAIL");
    auto requeued = attempt("4", "n[1-4]", 4, 10, "REQUEUED");
    const auto by_hand = records_of({requeued});
    requeued.failed_node = "n1";
    const std::vector<Case> cases{
        {"Slurm names it", records_of({named}, {event("n1", end_s)}), Definition::node_fail, "n3"},
        {"an event of a node of it", records_of({node_fail}, {event("n2", end_s + 60)}),
         Definition::node_fail, "n2"},
        {"the first of two events",
         records_of({node_fail}, {event("n2", end_s - 10), event("n1", end_s - 50)}),
         Definition::node_fail, "n1"},
        {"an event of another node", records_of({node_fail}, {event("n5", end_s)}),
         Definition::node_fail, ""},
        {"nothing is known", records_of({node_fail}), Definition::node_fail, ""},
        {"FAILED is no NODE_FAIL", records_of({failed}, {event("n2", end_s)}),
         Definition::node_fail, "-"},
        {"FAILED with an event, 10 min before", records_of({failed}, {event("n2", end_s - 600)}),
         Definition::rsc, "n2"},
        {"longer before", records_of({failed}, {event("n2", end_s - 601)}), Definition::rsc, "-"},
        {"5 min after", records_of({failed}, {event("n2", end_s + 300)}), Definition::rsc, "n2"},
        {"longer after", records_of({failed}, {event("n2", end_s + 301)}), Definition::rsc, "-"},
        {"before it started", records_of({brief}, {event("n2", start - 60)}), Definition::rsc, "-"},
        {"FAILED alone", records_of({failed}), Definition::rsc, "-"},
        {"planned", records_of({failed}, {event("n2", end_s, "DRAIN", "Maintenance")}),
         Definition::rsc, "-"},
        {"a crash",
         records_of({failed}, {event("n2", end_s, "DOWN", "Node unexpectedly rebooted")}),
         Definition::rsc, "n2"},
        {"requeued for a node", records_of({requeued}), Definition::node_fail, "n1"},
        {"requeued by hand", by_hand, Definition::node_fail, "-"},
    };
    for (const auto& c : cases) {
        INFO(c.why);
        const auto counted = count(c.records, c.definition);
        REQUIRE(counted.failures.size() == (c.node == "-" ? 0 : 1));
        if (c.node != "-") {
            CHECK(counted.failures[0].node == c.node);
            CHECK(counted.unattributed == (c.node.empty() ? 1 : 0));
        }
        for (const auto& node : counted.nodes) {
            CHECK(node.failures == (node.node == c.node ? 1 : 0));
        }
    }
}

TEST_CASE("exposure is the time of nodes in jobs, shared time once", "[failures]") {
    auto second = attempt("2", "n[2-3]", 2, 10);
    second.start_s = start + 5 * day;
    second.end_s = start + 12 * day;
    auto small = attempt("3", "n9", 1, 100);
    small.gpus = 4;
    auto records = records_of({attempt("1", "n[1-2]", 2, 10), second, small});
    diagnose::CountQuestion question;
    question.min_gpus = 8;
    auto counted = diagnose::count_failures(records, question).value();
    REQUIRE(counted.nodes.size() == 3);
    CHECK(counted.nodes[0].exposure_s == 10.0 * day);
    CHECK(counted.nodes[1].exposure_s == 12.0 * day);  // 0 to 10 and 5 to 12
    CHECK(counted.nodes[2].exposure_s == 7.0 * day);
    CHECK(counted.left_out == 1);

    question.since_s = start + 9 * day;
    question.nodes = {"n2"};
    counted = diagnose::count_failures(records, question).value();
    CHECK(counted.exposure_s == 3.0 * day);
}

TEST_CASE("a node that goes down counts by itself, and what was planned does not", "[failures]") {
    auto records = records_of(
        {attempt("1", "n[1-2]", 2, 10)},
        {event("n1", start + day), event("n2", start + day, "DRAIN"),
         event("n2", start + 2 * day, "DOWN", "kernel upgrade"), event("n3", start + 3 * day)});
    const auto counted = count(records, Definition::node_down);
    CHECK(counted.failures.size() == 2);
    CHECK(counted.planned == 1);
    // Three nodes for ten days; four hours out of service.
    CHECK(counted.exposure_s == 3 * 10.0 * day - 4 * 3600.0);
}

TEST_CASE("what is planned outside the window or the nodes is not told", "[failures]") {
    const auto records = records_of({attempt("1", "n[1-2]", 2, 10)},
                                    {event("n1", start + day, "DOWN", "kernel upgrade"),
                                     event("n2", start + 8 * day, "DOWN", "kernel upgrade")});
    diagnose::CountQuestion question;
    question.since_s = start + 5 * day;
    CHECK(diagnose::count_failures(records, question).value().planned == 1);
    question.nodes = {"n1"};
    CHECK(diagnose::count_failures(records, question).value().planned == 0);
}

TEST_CASE("an attempt that ends before it starts is not believed", "[failures]") {
    auto reversed = attempt("2", "n1", 3, 10, "NODE_FAIL");
    std::swap(reversed.start_s, reversed.end_s);
    reversed.failed_node = "n1";
    const auto counted = count(records_of({attempt("1", "n[1-2]", 2, 10), reversed}));
    CHECK(counted.failures.empty());
    CHECK(counted.reversed == 1);
}

TEST_CASE("records that have no time of nodes say what is missing", "[failures]") {
    auto no_nodes = attempt("1", "", 2, 10);
    auto no_start = attempt("1", "n1", 2, 10);
    no_start.start_s.reset();
    diagnose::CountQuestion all, large, late;
    large.min_gpus = 1'000'000;
    late.since_s = start + 1000 * day;
    struct Case {
        diagnose::SlurmRecords records;
        diagnose::CountQuestion question;
        const char* says;
    };
    const std::vector<Case> cases{
        {records_of({}), all, "no job; sacct"},
        {records_of({no_nodes}), all, "column NodeList"},
        {records_of({no_start}), all, "column Start"},
        {records_of({attempt("1", "n1", 2, 10)}), large, "--min-gpus"},
        {records_of({attempt("1", "n1", 2, 10)}), late, "--since leaves nothing"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.says);
        const auto counted = diagnose::count_failures(c.records, c.question);
        REQUIRE_FALSE(counted);
        CHECK_THAT(counted.error().message, ContainsSubstring(c.says));
    }
}

TEST_CASE("a node's death that ends several jobs is one failure", "[failures]") {
    auto first = attempt("1", "n1", 1, 10, "NODE_FAIL");
    auto second = attempt("2", "n1", 1, 10, "NODE_FAIL");
    first.failed_node = second.failed_node = "n1";
    const auto counted = count(records_of({first, second}));
    CHECK(counted.failures.size() == 1);
    CHECK(counted.repeated == 1);

    // It came back and died again.
    second.end_s = *second.end_s + 500;
    const auto twice =
        records_of({first, second}, {event("n1", *first.end_s), event("n1", *second.end_s)});
    CHECK(count(twice).failures.size() == 1);  // both events lie in the window of both ends
    second.end_s = *second.end_s + 600;
    const auto apart =
        records_of({first, second}, {event("n1", *first.end_s), event("n1", *second.end_s)});
    CHECK(count(apart).failures.size() == 2);
}

TEST_CASE("a node that is back in the second of its death and dies again failed twice", "[failures]") {
    const auto first = attempt("1", "n[1-2]", 2, 1, "NODE_FAIL");
    auto second = attempt("2", "n[1-2]", 2, 1, "NODE_FAIL");
    second.start_s = first.end_s;
    second.end_s = *first.end_s + 13;
    auto brief = event("n2", *first.end_s);
    brief.end_s = brief.begin_s;

    const auto counted = count(records_of({first, second}, {brief, event("n2", *second.end_s)}));

    REQUIRE(counted.failures.size() == 2);
    CHECK(counted.failures[1].job == "2");
    CHECK(counted.failures[1].event_s == second.end_s);
}

TEST_CASE("the rate has Garwood's interval, and the gang its share of it", "[failures]") {
    std::vector<JobAttempt> attempts{attempt("0", "n[001-100]", 100, 100)};
    for (int i = 0; i < 10; ++i) {
        auto job =
            attempt(fmt::format("{}", i + 1), fmt::format("n{:03}", i + 1), 1, 50, "NODE_FAIL");
        job.failed_node = job.node_list;
        attempts.push_back(std::move(job));
    }
    const auto answer = diagnose::failure_rate(count(records_of(attempts)), 50).value();
    CHECK_THAT(answer.node_days, WithinRel(10'000.0, 1e-12));
    CHECK_THAT(answer.per_1000_node_days, WithinRel(1.0, 1e-12));
    CHECK_THAT(answer.low, WithinRel(0.47954, 1e-4));   // 4.7954 in 10,000
    CHECK_THAT(answer.high, WithinRel(1.83904, 1e-4));  // 18.3904
    CHECK_THAT(answer.gang.mtbf_s, WithinRel(20.0 * day, 1e-12));
}

TEST_CASE("without a job there is no rate", "[failures]") {
    CHECK_FALSE(diagnose::count_failures(SlurmRecords{}, {}));
    CHECK_FALSE(diagnose::count_failures(SlurmRecords{}, {Definition::node_down, 0, {}, {}, {}}));
}
