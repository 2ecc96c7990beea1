// FLOPs, MFU and HFU against the tables that were published, row by row.
#include <cstdint>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/published.hpp"
#include "training/catalogue.hpp"
#include "training/mfu.hpp"
#include "training/parameters.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using railhead::test::PublishedRow;
using railhead::test::read_published;
using training::Recompute;
using training::Shape;
using training::Utilization;

namespace {

constexpr double recomputed = 1e-3;  // of columns that were worked out with many digits
constexpr double percent = 100;
constexpr double tera = 1e12;

Shape model(std::string_view name) {
    return **training::find_model(training::built_in_catalogue(), name);
}

const training::Convention& convention(std::string_view name) {
    return **training::find_convention(name);
}

std::uint64_t whole(const PublishedRow& row, const char* column) {
    return static_cast<std::uint64_t>(row.number(column));
}

/// A GPT of the sizes of a row: the MLP is four times as wide as the layer.
Shape gpt(const PublishedRow& row, std::uint64_t vocabulary, std::uint64_t sequence) {
    Shape shape = model("megatron-175b");
    shape.layers = whole(row, "layers");
    shape.hidden = whole(row, "hidden");
    shape.heads = 1;  // how many there are changes neither parameters nor FLOPs
    shape.ffn = 4 * shape.hidden;
    shape.vocabulary = vocabulary;
    shape.sequence = sequence;
    return shape;
}

Utilization measure(const Shape& shape, const training::Rate& rate, std::string_view by) {
    return training::utilization(shape, rate, convention(by)).value();
}

/// Within half a unit of the last digit that was printed.
constexpr double half_a_tenth = 0.05 + 1e-9;

}  // namespace

TEST_CASE("MFU and HFU are those of llm-foundry's table", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("llm_foundry_mfu")) {
        CAPTURE(row.text("section"), row.text("model"), row.text("seq_len"), row.text("gpus"));
        auto shape = model("mpt-" + row.text("model"));
        shape.sequence = whole(row, "seq_len");
        const bool recomputes = row.text("act_ckpt") == "True";
        const auto ours = measure(shape,
                                  {.tokens_per_s = row.number("tokens_per_s"),
                                   .gpus = row.number("gpus"),
                                   .peak_tflops = row.number("peak_tflops"),
                                   .recompute = recomputes ? Recompute::full : Recompute::none},
                                  "palm");
        CHECK(training::count_parameters(shape).total() == row.number("num_params"));
        CHECK_THAT(ours.mfu * percent, WithinRel(row.number("mfu_pct"), 2.7e-4));
        CHECK_THAT(ours.mfu * percent, WithinRel(row.number("mfu_pct_recomputed"), recomputed));
        CHECK_THAT(ours.hfu * percent, WithinRel(row.number("hfu_pct"), recomputed));
        CHECK_THAT(ours.model_tflops_per_gpu, WithinAbs(row.number("model_tflop_per_gpu"), 1));
        ++compared;
    }
    CHECK(compared == 216);
}

TEST_CASE("MFU and HFU are those of Korthikanti's tables", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("korthikanti_mfu_hfu")) {
        CAPTURE(row.text("model"));
        const auto sequence = row.number("seq");
        const auto shape = gpt(row, whole(row, "vocab"), whole(row, "seq"));
        const auto speed = training::tokens_per_s(row.number("batch"), sequence,
                                                  row.number("iter_s_present_work"));
        const auto ours = measure(shape,
                                  {.tokens_per_s = speed.value(),
                                   .gpus = row.number("gpus"),
                                   .peak_tflops = 312,
                                   .recompute = Recompute::selective},
                                  "korthikanti");
        CHECK_THAT(ours.mfu * percent, WithinRel(row.number("mfu_pct_published"), 3.7e-3));
        CHECK_THAT(ours.mfu * percent, WithinRel(row.number("mfu_pct_recomputed"), recomputed));
        CHECK_THAT(ours.hfu * percent,
                   WithinRel(row.number("hfu_pct_recomputed_selective"), recomputed));
        CHECK_THAT(ours.model_flops_per_token * row.number("batch") * sequence,
                   WithinRel(row.number("model_flops_iter"), recomputed));
        if (row.has("hfu_pct_published")) {
            CHECK_THAT(ours.hfu * percent, WithinRel(row.number("hfu_pct_published"), 2.7e-3));
        }
        ++compared;
    }
    CHECK(compared == 5);
}

TEST_CASE("the FLOP/s of BLOOM are those of its log, and are HFU", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    for (const auto& row : read_published("bloom_iteration")) {
        auto shape = model("bloom-176b");
        CHECK(shape.layers == whole(row, "layers"));
        CHECK(shape.hidden == whole(row, "hidden"));
        CHECK(shape.vocabulary == whole(row, "vocab"));
        const auto speed =
            training::tokens_per_s(row.number("batch"), row.number("seq"), row.number("iter_s"));
        const auto ours = measure(shape,
                                  {.tokens_per_s = speed.value(),
                                   .gpus = row.number("gpus"),
                                   .peak_tflops = 312,
                                   .recompute = Recompute::full},
                                  "sc21");
        const auto tflops = ours.hfu * ours.peak_tflops;
        CHECK_THAT(tflops, WithinRel(row.number("tflops_published"), 2.5e-5));
        CHECK_THAT(tflops, WithinRel(row.number("tflops_eq3_recomputed"), recomputed));
        CHECK_THAT(ours.mfu * percent, WithinRel(row.number("mfu_pct_model_flops"), recomputed));
    }
}

TEST_CASE("parameters, FLOPs and shares are those of SC21's table 1", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("megatron_sc21_table1")) {
        CAPTURE(row.text("params_b"));
        const auto shape = gpt(row, whole(row, "vocab"), whole(row, "seq"));
        const auto parameters = training::count_parameters(shape);
        // Equation 2 leaves the last norm out.
        const auto billions = (parameters.total() - 2 * row.number("hidden")) / 1e9;
        CHECK_THAT(billions, WithinRel(row.number("params_b_eq2"), recomputed));
        const auto printed = row.number("params_b");
        CHECK_THAT(billions, WithinRel(printed, printed < 2 ? 0.03 : printed < 7 ? 0.0115 : 5e-3));

        const auto tokens = row.number("batch") * row.number("seq");
        const auto flops = training::flops_per_token(shape, convention("sc21")).value();
        const auto done = training::hardware_flops(flops, convention("sc21"), Recompute::full);
        CHECK_THAT(flops.total() * tokens,
                   WithinRel(row.number("model_flops_iter_no_recompute"), recomputed));
        CHECK_THAT(done * tokens,
                   WithinRel(row.number("flops_iter_eq3_with_recompute"), recomputed));

        // What the table calls a share of the peak is HFU.
        const auto speed = row.number("tflops_per_gpu") * tera * row.number("gpus") / done;
        CHECK_THAT(tokens / speed, WithinRel(row.number("iter_time_s_implied"), recomputed));
        const auto ours = measure(shape,
                                  {.tokens_per_s = speed,
                                   .gpus = row.number("gpus"),
                                   .peak_tflops = row.number("peak_tflops"),
                                   .recompute = Recompute::full},
                                  "sc21");
        CHECK_THAT(ours.hfu * percent, WithinAbs(row.number("pct_of_peak_published"), 0.5));
        CHECK_THAT(ours.hfu * percent, WithinRel(row.number("pct_of_peak_recomputed"), recomputed));
        CHECK_THAT(ours.mfu * percent, WithinRel(row.number("mfu_pct_implied"), recomputed));
        const auto petaflops = ours.hfu * ours.peak_tflops * row.number("gpus") / 1e3;
        CHECK_THAT(petaflops, WithinRel(row.number("agg_pflops_published"), 3.7e-3));
        CHECK_THAT(petaflops, WithinAbs(row.number("agg_pflops_recomputed"), half_a_tenth));
        ++compared;
    }
    CHECK(compared == 10);
}

TEST_CASE("equation 4 gives the days of SC21's table 2 less what it drops, equation 3 all of them",
          "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("megatron_sc21_table2")) {
        CAPTURE(row.text("scheme"), row.text("params_b"), row.text("gpus"));
        constexpr double tokens = 300e9;
        const auto flops_per_s = row.number("tflops_per_gpu") * tera;
        const auto days = training::sc21_days(row.number("params_b") * 1e9, tokens,
                                              row.number("gpus"), flops_per_s);
        CHECK_THAT(days, WithinAbs(row.number("days_eq4_8TP_over_nX"), half_a_tenth));
        const auto off = days / row.number("days_300B_tokens_published") - 1;
        CHECK(off < -0.0135);
        CHECK(off > -0.0305);

        const auto shape = model(row.number("params_b") < 200 ? "megatron-175b" : "megatron-530b");
        const auto flops = training::flops_per_token(shape, convention("sc21")).value();
        const auto done = training::hardware_flops(flops, convention("sc21"), Recompute::full);
        constexpr double day_s = 86400;
        const auto all = done * tokens / (row.number("gpus") * flops_per_s) / day_s;
        // Printed as whole days, of a rate of two or three digits.
        CHECK_THAT(all, WithinAbs(row.number("days_300B_tokens_published"), 1.1));
        ++compared;
    }
    CHECK(compared == 12);
}

TEST_CASE("MFU and days are those of MegaScale's table 2", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    auto shape = model("megatron-175b");
    shape.vocabulary = 64000;
    for (const auto& row : read_published("megascale_table2")) {
        CAPTURE(row.text("batch"), row.text("method"), row.text("gpus"));
        constexpr double thousand = 1e3;
        const auto gpus = row.number("gpus");
        const auto speed =
            training::tokens_per_s(row.number("batch"), 2048, row.number("iter_s")).value();
        CHECK_THAT(speed / thousand, WithinRel(row.number("ktokens_per_s"), 4.1e-3));
        CHECK_THAT(speed / thousand, WithinAbs(row.number("ktok_recomputed"), half_a_tenth));
        constexpr double day_s = 86400;
        const auto days = 300e9 / (row.number("ktokens_per_s") * thousand) / day_s;
        CHECK_THAT(days, WithinAbs(row.number("days_recomputed"), 0.0051));
        CHECK_THAT(days, WithinRel(row.number("days_300B"), 1.3e-3));

        const auto ours = measure(shape, {.tokens_per_s = speed, .gpus = gpus, .peak_tflops = 312},
                                  "korthikanti");
        CHECK_THAT(ours.mfu * percent,
                   WithinRel(row.number("mfu_from_iter_korthikanti_formula"), recomputed));
        // MegaScale has sliding windows, and counts less: its rows are up to 1.5 % below ours.
        const auto off = ours.mfu * percent / row.number("mfu_pct") - 1;
        const bool windows = row.text("method") == "MegaScale";
        CHECK(off > (windows ? 0.003 : -0.004));
        CHECK(off < (windows ? 0.0155 : 0.004));
        // The printed aggregates do not go with the printed MFU: the MFU counts.
        const auto petaflops = row.number("mfu_pct") / percent * 312 * gpus / thousand;
        CHECK_THAT(petaflops, WithinAbs(row.number("agg_pflops_from_mfu_312"), half_a_tenth));
        ++compared;
    }
    CHECK(compared == 16);
}

TEST_CASE("shares of the peak are those of Megatron Core's weak scaling", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("megatron_core_h100")) {
        CAPTURE(row.text("model"));
        const auto tflops = row.number("tflops_per_gpu");
        const auto share = training::share_of_peak(tflops, 989).value() * percent;
        CHECK_THAT(share, WithinAbs(row.number("mfu_pct_published"), 0.5 + 0.05));
        CHECK_THAT(share, WithinAbs(row.number("mfu_pct_recomputed_989"), half_a_tenth));
        const auto petaflops = tflops * row.number("gpus") / 1e3;
        CHECK_THAT(petaflops, WithinRel(row.number("agg_pflops_published"), 1.2e-3));
        CHECK_THAT(petaflops, WithinAbs(row.number("agg_pflops_recomputed"), half_a_tenth));
        ++compared;
    }
    CHECK(compared == 9);
}

TEST_CASE("MFU is that of torchtitan's tables", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("torchtitan_perf")) {
        CAPTURE(row.text("model"), row.text("technique"), row.text("seq_len"));
        const auto& name = row.text("model");
        auto shape = model("llama-3-" + name.substr(name.rfind('-') + 1));
        shape.sequence = whole(row, "seq_len");
        const auto ours = measure(
            shape,
            {.tokens_per_s = row.number("tokens_per_s_per_gpu"), .gpus = 1, .peak_tflops = 989},
            "torchtitan");
        CHECK_THAT(
            ours.mfu * percent,
            WithinAbs(row.number("mfu_pct_torchtitan_formula_bf16peak989_recomputed"), 0.05));
        ++compared;
    }
    CHECK(compared == 32);
}

TEST_CASE("MFU and step time are those of Llama 3's table 4", "[training][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    for (const auto& row : read_published("llama3_table4")) {
        CAPTURE(row.text("gpus"), row.text("seq"));
        auto shape = model("llama-3-405b");
        shape.sequence = whole(row, "seq");
        const auto tflops = row.number("tflops_per_gpu");
        const auto share = training::share_of_peak(tflops, 989).value() * percent;
        CHECK_THAT(share, WithinAbs(row.number("bf16_mfu_pct"), 0.6));
        CHECK_THAT(share, WithinRel(row.number("mfu_recomputed_989"), recomputed));
        // The column counts no embedding, and half of the attention.
        const auto flops = training::flops_per_token(shape, convention("megatron-bridge")).value();
        const auto step_s =
            flops.total() * row.number("tokens_per_batch") / (row.number("gpus") * tflops * tera);
        CHECK_THAT(step_s, WithinRel(row.number("iter_s_implied_flops_6N_plus_attn"), recomputed));
        ++compared;
    }
    CHECK(compared == 3);
}
