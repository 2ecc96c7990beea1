// The models against the tables that were published, row by row.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "checkpoint/cost.hpp"
#include "checkpoint/ettr.hpp"
#include "checkpoint/interval.hpp"
#include "checkpoint/mtbf.hpp"
#include "support/catch.hpp"
#include "support/published.hpp"

namespace checkpoint = railhead::checkpoint;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using checkpoint::Timing;
using railhead::test::PublishedRow;
using railhead::test::read_published;

namespace {

constexpr double recomputed = 1e-3;  // of columns that were worked out with many digits
constexpr double minute = 60;
constexpr double hour = 3600;

std::uint64_t nodes_of(const PublishedRow& row) {
    return static_cast<std::uint64_t>(row.number("gpus")) / 8;
}

double mtbf_of(double rate, std::uint64_t nodes) {
    return checkpoint::gang_mtbf_s(rate, nodes).value();
}

}  // namespace

TEST_CASE("Young's, Daly's and the exact interval are those of Daly's examples",
          "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    for (const auto& row : read_published("daly_examples")) {
        CAPTURE(row.text("delta_min"), row.text("M_min"));
        const auto timing =
            Timing::make({row.number("M_min") * minute, row.number("delta_min") * minute,
                          row.number("R_min") * minute, 0})
                .value();
        const auto check = [&](double actual_s, const char* column, double tolerance) {
            CAPTURE(column);
            CHECK_THAT(actual_s / minute, WithinRel(row.number(column), tolerance));
        };
        check(checkpoint::young_s(timing), "tau_young_min", recomputed);
        check(checkpoint::daly_first_order_s(timing), "tau_daly_first_order_min", recomputed);
        check(checkpoint::daly_s(timing), "tau_daly_higher_order_min", recomputed);
        check(checkpoint::optimum_s(timing), "tau_exact_lambertw_min", recomputed);
        check(checkpoint::optimum_s(timing), "tau_numeric_argmin_min", recomputed);
        if (row.has("tau_published_min")) {
            // Printed with two or three digits: 57 stands for 56.71.
            check(checkpoint::daly_s(timing), "tau_published_min", 5.1e-3);
        }
        const auto wall_h = 500 * checkpoint::stretch(timing, checkpoint::daly_s(timing));
        CHECK_THAT(wall_h, WithinRel(row.number("wallclock_h_for_500h_solve"), recomputed));
    }
}

TEST_CASE("ETTR is that of the RSC paper's points", "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    for (const auto& row : read_published("ettr_points")) {
        CAPTURE(row.text("case"));
        const auto cost_s = row.has("w_cp_s") ? row.number("w_cp_s") : 1.0;  // v1 has no cost
        const auto timing =
            Timing::make({mtbf_of(row.number("rf_per_1000_node_days"), nodes_of(row)), cost_s,
                          row.number("u0_min") * minute, 0})
                .value();
        const auto interval_s = row.number("dt_min") * minute;
        const auto ettr = row.text("formula") == "v1" ? checkpoint::ettr_v1(timing, interval_s)
                                                      : checkpoint::ettr_v2(timing, interval_s);
        CHECK_THAT(ettr, WithinAbs(row.number("ettr_recomputed"), 5e-4));
        if (row.has("ettr_published") && row.text("note") != "NOT reproduced") {
            CHECK_THAT(ettr, WithinAbs(row.number("ettr_published"), 0.04));
        }
        if (row.text("formula") == "v2") {
            CHECK_THAT(checkpoint::young_s(timing), WithinRel(interval_s, recomputed));
        }
    }
}

TEST_CASE("MTTF by size of job is that of the RSC paper", "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto all_causes = checkpoint::find_rate("rsc-1-all")->per_1000_node_days;
    for (const auto& row : read_published("mttf_by_job_size")) {
        CAPTURE(row.text("cluster"), row.text("gpus"));
        const auto nodes = static_cast<std::uint64_t>(row.number("nodes"));
        const auto mtbf_h = mtbf_of(row.number("rate_per_1000_node_days"), nodes) / hour;
        CHECK_THAT(mtbf_h, WithinRel(row.number("mttf_h_formula"), recomputed));
        if (row.text("kind") == "projected") {
            CHECK_THAT(mtbf_h, WithinRel(row.number("mttf_h_published"), 0.021));
        }
        if (row.text("kind") == "measured") {
            // Measured over all causes, of which the rate of large jobs is less than a third.
            CHECK_THAT(mtbf_of(all_causes, nodes) / hour,
                       WithinRel(row.number("mttf_h_published"), 0.12));
        }
    }
}

TEST_CASE("failure rates follow from what was counted", "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto is_count = [](const PublishedRow& row) {
        return row.has("events") && row.has("window_days") &&
               row.number("events") == std::floor(row.number("events"));
    };
    int counted = 0;
    for (const auto& row : read_published("failure_rates")) {
        CAPTURE(row.text("cluster"));
        if (!row.has("nodes") || !row.has("rate_per_1000_node_days")) {
            continue;
        }
        const auto nodes = static_cast<std::uint64_t>(row.number("nodes"));
        const auto rate = row.number("rate_per_1000_node_days");
        // Both columns are rounded: the rate to three places, the MTBF to two.
        const auto rounding = 5e-4 / rate;
        if (row.has("system_mtbf_h")) {
            const auto printed_h = row.number("system_mtbf_h");
            CHECK_THAT(mtbf_of(rate, nodes) / hour,
                       WithinRel(printed_h, recomputed + rounding + 5e-3 / printed_h));
        }
        if (is_count(row)) {
            ++counted;
            const auto estimate =
                checkpoint::estimate_mtbf(static_cast<std::uint64_t>(row.number("events")),
                                          row.number("window_days") * 86400)
                    .value();
            CHECK_THAT(checkpoint::rate_per_1000_node_days(estimate.mtbf_s, nodes),
                       WithinRel(rate, recomputed + rounding));
            CHECK(estimate.low_s < estimate.mtbf_s);
            CHECK(estimate.mtbf_s < estimate.high_s.value());
        }
    }
    CHECK(counted >= 5);
}

TEST_CASE("the rates that have a name are the published ones", "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const std::map<std::string, std::string> clusters{
        {"rsc-1", "RSC-1"}, {"rsc-2", "RSC-2"},   {"llama-3", "Llama 3 405B"},
        {"imbue", "Imbue"}, {"crusoe", "Crusoe"}, {"bloom", "BLOOM"}};
    const auto rows = read_published("failure_rates");
    for (const auto& rate : checkpoint::published_rates()) {
        CAPTURE(rate.name);
        CHECK_FALSE(rate.counted.empty());
        CHECK_FALSE(rate.source.empty());
        const auto cluster = clusters.find(std::string{rate.name});
        if (cluster == clusters.end()) {
            CHECK(rate.name == "rsc-1-all");  // of mttf_by_job_size
            continue;
        }
        const auto row = std::ranges::find_if(
            rows, [&](const auto& one) { return one.text("cluster") == cluster->second; });
        REQUIRE(row != rows.end());
        CHECK_THAT(rate.per_1000_node_days,
                   WithinRel(row->number("rate_per_1000_node_days"), 1.5e-3));
    }
}

TEST_CASE("published checkpoints are as large as a recipe says", "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    // 14 bytes a parameter, or 12 where the 16-bit weights are not saved beside their fp32 masters.
    const auto with_weights = checkpoint::usual_recipe().in_checkpoint();
    const auto without = checkpoint::usual_recipe().optimizer;
    for (const auto& row : read_published("checkpoint_sizes")) {
        CAPTURE(row.text("model"));
        if (!row.has("bytes")) {
            continue;
        }
        const auto bytes = row.number("bytes");
        const auto per_param = bytes / row.number("params");
        CHECK_THAT(per_param, WithinRel(row.number("bytes_per_param"), recomputed));
        // OPT's files hold less than its optimizer has: not all of the state is in them.
        const bool whole = row.text("model") != "OPT 175B";
        CHECK((per_param >= without * 0.99 && per_param <= with_weights) == whole);
        if (row.has("write_bytes_per_s") && row.has("blocking_write_s")) {
            checkpoint::Store store;
            store.bytes_per_s = row.number("write_bytes_per_s");
            CHECK_THAT(checkpoint::write_time_s(bytes, store).value(),
                       WithinRel(row.number("blocking_write_s"), recomputed));
        }
    }
}

TEST_CASE("a write at the published bandwidth takes as long as it must",
          "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto facts = read_published("checkpoint_storage_facts");
    const auto fact = std::ranges::find_if(
        facts, [](const auto& row) { return row.text("fact") == "Llama 3 sustained throughput"; });
    REQUIRE(fact != facts.end());
    REQUIRE(fact->text("unit") == "TB/s");
    checkpoint::Store store;
    store.bytes_per_s = fact->number("value") * 1e12;
    const std::map<std::string, double> seconds{{"Llama 70B", 0.456}, {"Llama 405B", 2.645}};
    std::size_t found = 0;
    for (const auto& row : read_published("checkpoint_sizes")) {
        const auto expected = seconds.find(row.text("model"));
        if (expected != seconds.end()) {
            ++found;
            CHECK_THAT(checkpoint::write_time_s(row.number("bytes"), store).value(),
                       WithinRel(expected->second, recomputed));
        }
    }
    CHECK(found == seconds.size());
}

TEST_CASE("recipes have the published bytes of a parameter", "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const std::map<std::string, std::string> names{
        {"fp32 Adam", "adam-fp32"},
        {"fp32 params + fp32 grads", "adam-fp32"},
        {"fp16/bf16 mixed Adam (ZeRO)", "adam-mixed"},
        {"bf16 params + fp32 grad accumulation", "adam-mixed-fp32-grads"},
        {"ZeRO-1 distributed optimizer bf16/fp32-grad", "adam-mixed-fp32-grads"},
        {"bf16 param+grad copies + fp32 grads", "adam-mixed-grad-copies"},
        {"8-bit Adam (bnb)", "adam-8bit"},
    };
    // "12/d" is what each of d ranks holds: 12 over all of them.
    const auto over_all = [](std::string text) {
        return std::stod(text.substr(0, text.find('/')));
    };
    for (const auto& row : read_published("bytes_per_param")) {
        CAPTURE(row.text("recipe"));
        const auto name = names.find(row.text("recipe"));
        REQUIRE(name != names.end());
        const auto* recipe = checkpoint::find_recipe(name->second);
        REQUIRE(recipe != nullptr);
        CHECK(recipe->weights == row.number("weights"));
        CHECK(recipe->gradients == row.number("grads"));
        CHECK(recipe->optimizer == over_all(row.text("optimizer")));
        if (row.text("total").find('/') == std::string::npos) {
            CHECK(recipe->in_memory() == row.number("total"));
        }
    }
}

TEST_CASE("misprints of the RSC paper are not reproduced, but explained",
          "[checkpoint][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto rows = read_published("published_anomalies");
    const auto treatment = [&](const std::string& where) {
        const auto row =
            std::ranges::find_if(rows, [&](const auto& one) { return one.text("where") == where; });
        return row == rows.end() ? std::string{} : row->text("recomputed") + row->text("treatment");
    };
    constexpr std::uint64_t nodes = 12'500;  // 100,000 GPUs
    REQUIRE_THAT(treatment("RSC v1 100k-GPU MTTF"), ContainsSubstring("17.7 min"));
    CHECK_THAT(mtbf_of(6.5, nodes) / minute, WithinAbs(17.7, 0.05));

    REQUIRE_THAT(treatment("RSC v1 21-min ckpt at RSC-2 rate -> ETTR 0.5"),
                 ContainsSubstring("needs u0=14 min"));
    const auto timing = Timing::make({mtbf_of(2.34, nodes), 1, 14 * minute, 0}).value();
    CHECK_THAT(checkpoint::ettr_v1(timing, 21 * minute), WithinAbs(0.5, 0.005));

    REQUIRE_THAT(treatment("RSC-1 1024-GPU job MTTF"), ContainsSubstring("28.8 h"));
    CHECK_THAT(mtbf_of(6.5, 128) / hour, WithinAbs(28.8, 0.05));
}
