#include "plan/layouts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "plan/machine.hpp"
#include "plan/step_time.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/published.hpp"
#include "support/shapes.hpp"
#include "training/catalogue.hpp"

namespace plan = railhead::plan;
namespace training = railhead::training;
using Catch::Matchers::WithinRel;
using plan::LayoutQuestion;
using railhead::test::PublishedRow;
using railhead::test::read_published;
using training::Layout;

namespace {

plan::Machine machine(const char* name) {
    plan::MachineQuestion question;
    question.accelerator = training::find_accelerator(training::built_in_catalogue(), name).value();
    return plan::make_machine(question, training::built_in_catalogue()).value();
}

const training::Recipe& fp32_gradients() {
    return *training::find_recipe("adam-mixed-fp32-grads");
}

LayoutQuestion question(const training::Shape& shape, const plan::Machine& on, std::uint64_t gpus,
                        std::uint64_t batch) {
    LayoutQuestion out;
    out.shape = &shape;
    out.machine = &on;
    out.recipe = &fp32_gradients();
    out.gpus = gpus;
    out.batch = batch;
    return out;
}

std::uint64_t whole(const PublishedRow& row, const char* column) {
    return static_cast<std::uint64_t>(row.number(column));
}

/// A published layout: the shape, and what the paper prints of its layout and speed.
struct Printed {
    training::Shape shape;
    std::string name, machine;
    std::uint64_t gpus = 0, batch = 0, tp = 0, pp = 0, cp = 1, dp = 0;
    double tflops = 0;      ///< a GPU
    double step_flops = 0;  ///< of the paper's own formula
    [[nodiscard]] double step_s() const {
        return step_flops / (tflops * 1e12 * static_cast<double>(gpus));
    }
};

std::vector<Printed> llama_3() {
    std::vector<Printed> out;
    for (const auto& row : read_published("llama3_table4")) {
        Printed one;
        one.shape = railhead::test::llama_405b();
        one.shape.sequence = whole(row, "seq");
        one.machine = "h100-sxm";
        one.gpus = whole(row, "gpus");
        one.tp = whole(row, "tp");
        one.pp = whole(row, "pp");
        one.cp = whole(row, "cp");
        one.dp = whole(row, "dp_consistent");
        one.batch = whole(row, "tokens_per_batch") / one.shape.sequence;
        one.tflops = row.number("tflops_per_gpu");
        one.step_flops = row.number("iter_s_implied_flops_6N_plus_attn") * one.tflops * 1e12 *
                         static_cast<double>(one.gpus);
        one.name = fmt::format("Llama 3 405B, {} tokens", one.shape.sequence);
        out.push_back(std::move(one));
    }
    return out;
}

Printed gpt_row(const PublishedRow& row, const char* on) {
    Printed one;
    one.shape =
        railhead::test::gpt(whole(row, "layers"), whole(row, "hidden"), whole(row, "heads"));
    one.machine = on;
    one.gpus = whole(row, "gpus");
    one.tp = whole(row, "tp");
    one.pp = whole(row, "pp");
    one.dp = whole(row, "dp");
    one.batch = whole(row, "batch");
    one.tflops = row.number("tflops_per_gpu");
    return one;
}

std::vector<Printed> sc21() {
    std::vector<Printed> out;
    for (const auto& row : read_published("megatron_sc21_table1")) {
        auto one = gpt_row(row, "a100-sxm-80gb");
        one.name = "SC21 " + row.text("params_b") + "B";
        one.step_flops = row.number("flops_iter_eq3_with_recompute");
        out.push_back(std::move(one));
    }
    return out;
}

std::vector<Printed> megatron_core() {
    std::vector<Printed> out;
    for (const auto& row : read_published("megatron_core_h100")) {
        auto one = gpt_row(row, "h100-sxm");
        one.name = "Megatron " + row.text("model");
        one.shape.sequence = 4096;
        one.shape.vocabulary = 131072;
        const auto flops =
            training::flops_per_token(one.shape, *training::find_convention("matrices").value());
        one.step_flops = flops->total() * 4096 * static_cast<double>(one.batch);
        out.push_back(std::move(one));
    }
    return out;
}

/// One line of docs/layouts.md's table.
std::string line_of(const Printed& printed, const plan::RankedLayout& theirs,
                    const plan::LayoutSearch& all) {
    const auto& best = all.ranked.front();
    const auto& l = best.layout;
    return fmt::format("| {} | {} | {}·{}·{}·{} | {:.2f} | {:.2f} | {}·{}·{}·{} | {:.2f} | {} |",
                       printed.name, printed.gpus, printed.tp, printed.pp, printed.cp, printed.dp,
                       printed.step_s(), theirs.time.total(), l.tp, l.pp, l.cp, l.dp,
                       best.time.total(), all.grid);
}

const std::string& document() {
    static const auto text =
        railhead::read_file(railhead::test::checkout("docs/layouts.md")).value();
    return text;
}

/// The best by looking at all, each by itself.
struct ByForce {
    Layout layout;
    double seconds = 0;
    std::uint64_t grid = 0, fitting = 0;
};

ByForce by_force(const LayoutQuestion& asked) {
    ByForce out;
    const auto model = plan::StepModel::make(*asked.shape, *asked.machine, *asked.recipe).value();
    plan::for_each_layout(asked, [&](const Layout& layout) {
        ++out.grid;
        const auto memory = training::memory_per_gpu(*asked.shape, layout, *asked.recipe);
        if (memory.total() > asked.machine->accelerator->memory_bytes) {
            return;
        }
        ++out.fitting;
        const auto seconds = model.time_of(layout).total();
        if (out.fitting == 1 || seconds < out.seconds) {
            out.seconds = seconds;
            out.layout = layout;
        }
    });
    return out;
}

bool is_whole_model(const Layout& layout, const training::Shape& shape) {
    std::uint64_t next = 0;
    for (std::uint64_t stage = 0; stage < layout.pp; ++stage) {
        const auto layers = training::layers_of(shape, layout, stage);
        if (layers.begin != next || layers.count() == 0) {
            return false;
        }
        next = layers.end;
    }
    return next == shape.layers;
}

}  // namespace

TEST_CASE("the best layout is that of looking at every one of the grid", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto a100 = machine("a100-sxm-40gb");
    const auto gb200 = machine("gb200");
    struct Case {
        training::Shape shape;
        const plan::Machine* on;
    };
    const std::vector<Case> cases{{railhead::test::llama_65b(), &h100},
                                  {railhead::test::llama_405b(), &h100},
                                  {railhead::test::mixtral_8x7b(), &a100},
                                  {railhead::test::deepseek_v3(), &gb200},
                                  {railhead::test::gpt(48, 6144, 48), &a100}};
    std::uint64_t seed = 1;
    std::size_t compared = 0;
    for (const auto& one : cases) {
        for (int round = 0; round < 6; ++round) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            const auto gpus = 8 * (1 + (seed >> 40) % 400);
            const auto batch = gpus / 8 * (1 + (seed >> 20) % 16);
            CAPTURE(one.shape.name, gpus, batch, round);
            const auto asked = question(one.shape, *one.on, gpus, batch);
            const auto found = plan::search_layouts(asked).value();
            const auto force = by_force(asked);
            CHECK(found.grid == force.grid);
            CHECK(found.fitting == force.fitting);
            if (force.fitting > 0) {
                ++compared;
                REQUIRE_FALSE(found.ranked.empty());
                CHECK(found.ranked.front().time.total() == force.seconds);
            }
        }
    }
    CHECK(compared >= 12);
}

TEST_CASE("every layout of the grid is one that can be", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto shape = GENERATE(railhead::test::llama_405b(), railhead::test::deepseek_v3());
    CAPTURE(shape.name);
    const auto asked = question(shape, h100, 2048, 512);
    std::uint64_t seen = 0;
    std::uint64_t wrong = 0;
    plan::for_each_layout(asked, [&](const Layout& layout) {
        ++seen;
        const bool is_right = layout.gpus() == 2048 &&
                              layout.groups() * layout.microbatch * layout.microbatches == 512 &&
                              shape.heads % layout.tp == 0 && layout.tp <= 8 &&
                              layout.pp <= shape.layers && is_whole_model(layout, shape) &&
                              (layout.interleave == 1 || layout.microbatches % layout.pp == 0);
        wrong += is_right ? 0 : 1;
    });
    CHECK(seen > 500);
    CHECK(wrong == 0);
}

TEST_CASE("126 layers go on 16 stages, with one less on both ends", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto shape = railhead::test::llama_405b();
    auto asked = question(shape, h100, 16384, 2048);
    asked.pp = 16;
    std::map<std::uint64_t, std::uint64_t> by_first_stage;
    plan::for_each_layout(asked, [&](const Layout& layout) {
        ++by_first_stage[training::layers_of(shape, layout, 0).count()];
    });
    CHECK(by_first_stage[8] > 0);
    CHECK(by_first_stage[7] > 0);
    CHECK(by_first_stage.size() == 2);
}

TEST_CASE("a step is the sum of its terms", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto shape = railhead::test::llama_65b();
    const auto model = plan::StepModel::make(shape, h100, fp32_gradients()).value();
    Layout layout;
    layout.tp = 8;
    layout.dp = 144;
    layout.microbatches = 14;
    const auto time = model.time_of(layout);

    // By hand: 14 sequences of 2048 tokens over 8 GPUs, 6 FLOPs a parameter of the matrices.
    const double matrices = 80.0 * (4.0 * 8192 * 8192 + 3.0 * 8192 * 22016) + 32000.0 * 8192;
    CHECK_THAT(time.matmul, WithinRel(14 * 2048 * 6 * matrices / 8 / 794.5e12, 1e-9));
    // 6 L h s, the causal half, at half of 989.4 TFLOP/s.
    CHECK_THAT(time.attention,
               WithinRel(14 * 2048 * 6.0 * 80 * 8192 * 2048 / 8 / (0.5 * 989.4e12), 1e-9));
    CHECK(time.bubble == 0);
    CHECK(time.pipeline == 0);
    CHECK(time.recomputation == 0);
    CHECK(time.tensor > 0);
    CHECK(time.memory > 0);
    CHECK(time.optimizer > 0);

    auto piped = layout;
    piped.pp = 4;
    piped.dp = 36;
    piped.microbatches = 56;
    const auto one = model.time_of(piped);
    // (p - 1) / m of what 56 microbatches take.
    const auto work = one.total() - one.bubble - one.data - one.optimizer;
    CHECK_THAT(one.bubble, WithinRel(work * 3 / 56, 1e-9));
    piped.interleave = 4;
    const auto chunked = model.time_of(piped);
    const auto chunked_work = chunked.total() - chunked.bubble - chunked.data - chunked.optimizer;
    CHECK_THAT(chunked.bubble, WithinRel(chunked_work * 3 / (4 * 56), 1e-9));
}

TEST_CASE("recomputation, shards and slow links cost what they should", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto shape = railhead::test::llama_65b();
    const auto model = plan::StepModel::make(shape, h100, fp32_gradients()).value();
    Layout layout;
    layout.tp = 8;
    layout.dp = 128;
    layout.microbatches = 16;
    const auto plain = model.time_of(layout);
    auto full = layout;
    full.recompute = training::Recompute::full;
    const auto again = model.time_of(full);
    // A third of the layers' work: all but the logits and the weights' traffic.
    CHECK(again.recomputation > 0.3 * (plain.matmul + plain.attention));
    CHECK(again.recomputation < 0.4 * (plain.matmul + plain.attention));
    CHECK_THAT(again.tensor, WithinRel(plain.tensor * 1.5, 0.01));

    auto slow = h100;
    slow.network_bytes_per_s /= 100;
    const auto slow_model = plan::StepModel::make(shape, slow, fp32_gradients()).value();
    CHECK(slow_model.time_of(layout).data > 10 * std::max(plain.data, 1e-3));
    CHECK(slow_model.time_of(layout).tensor == plain.tensor);
}

TEST_CASE("what a question says of the layout is kept to", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto shape = railhead::test::llama_65b();
    auto asked = question(shape, h100, 1024, 2048);
    asked.tp = 8;
    asked.pp = 4;
    asked.recompute = training::Recompute::full;
    const auto found = plan::search_layouts(asked).value();
    REQUIRE_FALSE(found.ranked.empty());
    for (const auto& one : found.ranked) {
        CHECK(one.layout.tp == 8);
        CHECK(one.layout.pp == 4);
        CHECK(one.layout.recompute == training::Recompute::full);
        CHECK(one.fit == training::Fit::fits);
    }
    CHECK(found.ranked.size() <= asked.keep);
    asked.batch = 0;
    CHECK_FALSE(plan::search_layouts(asked));
}

TEST_CASE("each published layout is in the grid and fits its memory", "[layouts][published]") {
    RAILHEAD_NEED_PUBLISHED();
    std::size_t compared = 0;
    std::string table;
    for (const auto& all : {llama_3(), sc21(), megatron_core()}) {
        for (const auto& printed : all) {
            CAPTURE(printed.name);
            const auto on = machine(printed.machine.c_str());
            auto asked = question(printed.shape, on, printed.gpus, printed.batch);
            const auto found = plan::search_layouts(asked).value();
            asked.tp = printed.tp;
            asked.pp = printed.pp;
            asked.cp = printed.cp;
            const auto theirs = plan::search_layouts(asked).value();
            CHECK(theirs.grid > 0);
            CHECK(theirs.fitting > 0);
            if (theirs.fitting == 0) {
                continue;
            }
            ++compared;
            const auto& layout = theirs.ranked.front().layout;
            CHECK(layout.dp == printed.dp);
            // As the model is known to be: SC21 had no flash attention, and recomputed all layers.
            const auto ratio = theirs.ranked.front().time.total() / printed.step_s();
            CHECK(ratio > 0.4);
            CHECK(ratio < 1.1);
            CHECK(theirs.ranked.front().time.total() >= found.ranked.front().time.total());
            const auto line = line_of(printed, theirs.ranked.front(), found);
            table += line + "\n";
            CHECK_THAT(document(), ContainsSubstring(line));
        }
    }
    CHECK(compared == 3 + 10 + 9);
    WARN("layouts against our best:\n" << table);
}

TEST_CASE("405B on 16,384 GPUs is searched in a moment", "[layouts]") {
    const auto h100 = machine("h100-sxm");
    const auto shape = railhead::test::llama_405b();
    const auto asked = question(shape, h100, 16384, 2048);
    const auto start = std::chrono::steady_clock::now();
    const auto found = plan::search_layouts(asked).value();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(found.grid > 1000);
    CHECK(took.count() < 2);  // 50 ms from the release preset: tests/bench/layouts_bench.cpp
}
