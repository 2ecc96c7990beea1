#include "training/memory.hpp"

#include <cmath>
#include <map>
#include <string>

#include "support/catch.hpp"
#include "support/published.hpp"
#include "support/shapes.hpp"
#include "training/parameters.hpp"
#include "training/traffic.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using railhead::test::PublishedRow;
using railhead::test::read_published;
using training::Fit;
using training::Layout;
using training::Recompute;
using training::Sharding;

namespace {

constexpr double gb = 1e9;
constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double worked_out = 1e-3;  // of columns with three or more digits

const training::Recipe& recipe(const char* name) {
    return *training::find_recipe(name);
}

/// One unit of the last digit that is printed: tables round some cells and cut others.
double last_digit(const std::string& printed) {
    const auto point = printed.find('.');
    const auto digits = point == std::string::npos ? 0 : printed.size() - point - 1;
    return std::pow(10.0, -static_cast<double>(digits));
}

std::uint64_t whole(const PublishedRow& row, const char* column) {
    return static_cast<std::uint64_t>(row.number(column));
}

/// The layout that a scheme of Korthikanti's table means.
Layout layout_of(const PublishedRow& row) {
    const auto& scheme = row.text("scheme");
    Layout layout;
    layout.tp = scheme == "none" ? 1 : whole(row, "tp");
    layout.microbatch = whole(row, "microbatch");
    layout.sequence_parallel = scheme.find("SP") != std::string::npos;
    layout.flash_attention = false;
    if (scheme == "full recompute") {
        layout.recompute = Recompute::full;
    } else if (scheme.find("selective") != std::string::npos) {
        layout.recompute = Recompute::selective;
    }
    return layout;
}

/// tp 8, dp 144 as in the worked example.
Layout example_layout() {
    Layout layout;
    layout.tp = 8;
    layout.dp = 144;
    return layout;
}

double parameters(const training::Shape& shape) {
    const auto all = training::parameters_of(shape, Layout{}, 0);
    return all.common + all.experts;
}

/// Figures of the worked example by their name, in GB.
std::map<std::string, double> example() {
    std::map<std::string, double> out;
    for (const auto& row : read_published("sizing_example_llama65b")) {
        out[row.text("quantity")] = row.number("value");
    }
    return out;
}

}  // namespace

TEST_CASE("recipes have the published bytes a parameter", "[training][memory][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const std::map<std::string, const char*> names{
        {"fp32 Adam", "adam-fp32"},
        {"fp16/bf16 mixed Adam (ZeRO)", "adam-mixed"},
        {"bf16 params + fp32 grad accumulation", "adam-mixed-fp32-grads"},
        {"bf16 param+grad copies + fp32 grads", "adam-mixed-grad-copies"},
        {"fp32 params + fp32 grads", "adam-fp32"},
        {"8-bit Adam (bnb)", "adam-8bit"}};
    int compared = 0;
    for (const auto& row : read_published("bytes_per_param")) {
        CAPTURE(row.text("recipe"));
        const auto named = names.find(row.text("recipe"));
        if (named == names.end()) {  // a formula in d: the test below
            CHECK(row.text("total") == "6+12/d");
            continue;
        }
        ++compared;
        const auto& ours = recipe(named->second);
        CHECK(ours.weights == row.number("weights"));
        CHECK(ours.gradients == row.number("grads"));
        CHECK(ours.optimizer == row.number("optimizer"));
        CHECK(ours.in_memory() == row.number("total"));
    }
    CHECK(compared == 6);
}

TEST_CASE("a distributed optimizer needs what Megatron-LM's table says", "[training][memory]") {
    const auto d = GENERATE(1.0, 8.0, 144.0);
    const auto total = [&](const char* name) {
        return training::state_of(1, recipe(name), Sharding::optimizer, d).total();
    };
    CHECK_THAT(total("adam-mixed-fp32-grads"), WithinRel(6 + 12 / d));
    CHECK_THAT(total("adam-mixed-grad-copies"), WithinRel(4 + 16 / d));
    CHECK_THAT(total("adam-fp32"), WithinRel(8 + 8 / d));
}

TEST_CASE("ZeRO's stages need what its table 1 says", "[training][memory][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const std::map<std::string, Sharding> stages{{"Pos", Sharding::optimizer},
                                                 {"Pos+g", Sharding::gradients},
                                                 {"Pos+g+p", Sharding::weights}};
    int compared = 0;
    for (const auto& row : read_published("zero_memory_table1")) {
        CAPTURE(row.text("stage"), row.text("params_b"), row.text("dp"));
        const auto state = training::state_of(row.number("params_b") * 1e9, recipe("adam-mixed"),
                                              stages.at(row.text("stage")), row.number("dp"));
        CHECK_THAT(state.total() / gb, WithinAbs(row.number("gb_formula"), 5.1e-4));
        CHECK_THAT(state.total() / gb,
                   WithinAbs(row.number("gb_published"), last_digit(row.text("gb_published"))));
        ++compared;
    }
    CHECK(compared == 54);
}

TEST_CASE("activations are Korthikanti's, whatever the pipeline", "[training][memory][published]") {
    RAILHEAD_NEED_PUBLISHED();
    int compared = 0;
    for (const auto& row : read_published("activation_memory_korthikanti")) {
        CAPTURE(row.text("model"), row.text("scheme"));
        auto shape =
            railhead::test::gpt(whole(row, "layers"), whole(row, "hidden"), whole(row, "heads"));
        shape.sequence = whole(row, "seq");
        auto layout = layout_of(row);
        CHECK(training::formula_for(shape) == training::ActivationFormula::korthikanti);
        CHECK_THAT(training::korthikanti_activations(shape, layout).kept,
                   WithinAbs(row.number("bytes_per_layer"), 1));
        CHECK_THAT(training::korthikanti_activations(shape, layout).kept / gib,
                   WithinAbs(row.number("gib_per_layer"), 5.1e-4));
        for (const std::uint64_t pp :
             {1, shape.layers % 2 == 0 ? 2 : 3, shape.layers % 8 == 0 ? 8 : 5}) {
            CAPTURE(pp);
            layout.pp = pp;
            const auto memory =
                training::memory_of_stage(shape, layout, training::usual_recipe(), 0);
            CHECK_THAT(memory.activations / gib,
                       WithinAbs(row.number("gib_first_stage_total"), 5.1e-3));
        }
        ++compared;
    }
    CHECK(compared == 24);
}

TEST_CASE("an interleaved pipeline keeps 1 + (p - 1) / (p v) times as much", "[training][memory]") {
    const auto shape = railhead::test::gpt(96, 12288, 96);
    Layout layout;
    layout.pp = 8;
    const auto one = training::memory_of_stage(shape, layout, training::usual_recipe(), 0);
    for (const std::uint64_t v : {2, 3, 12}) {
        CAPTURE(v);
        layout.interleave = v;
        const auto more = training::memory_of_stage(shape, layout, training::usual_recipe(), 0);
        CHECK_THAT(more.activations / one.activations,
                   WithinRel(1 + 7.0 / (8.0 * static_cast<double>(v))));
    }
}

TEST_CASE("no more is kept than there are microbatches", "[training][memory]") {
    Layout layout;
    layout.pp = 16;
    layout.microbatches = 4;
    CHECK(training::chunks_in_flight(layout, 0) == 4);
    CHECK(training::chunks_in_flight(layout, 15) == 1);
    layout.interleave = 2;
    CHECK(training::chunks_in_flight(layout, 0) == 8);
    CHECK(training::chunks_in_flight(layout, 15) == 8);
}

TEST_CASE("stages hold every layer once, evenly or as the layout says", "[training][memory]") {
    struct Case {
        std::uint64_t layers, pp, first, last, on_first, on_second, on_last;
        const char* why;
    };
    const auto known = GENERATE(values<Case>({
        {96, 8, 0, 0, 12, 12, 12, "even"},
        {126, 16, 0, 0, 8, 8, 7, "14 stages get one more"},
        {126, 16, 7, 7, 7, 8, 7, "Llama 3 405B: one less on both ends"},
        {61, 16, 4, 0, 4, 4, 3, "the first is given"},
        {10, 3, 0, 2, 4, 4, 2, "the last is given"},
        {80, 1, 0, 0, 80, 80, 80, "no pipeline"},
    }));
    CAPTURE(known.why);
    training::Shape shape;
    shape.layers = known.layers;
    Layout layout;
    layout.pp = known.pp;
    layout.first_stage_layers = known.first;
    layout.last_stage_layers = known.last;
    std::uint64_t next = 0;
    for (std::uint64_t stage = 0; stage < known.pp; ++stage) {
        const auto layers = training::layers_of(shape, layout, stage);
        CHECK(layers.begin == next);
        next = layers.end;
    }
    CHECK(next == known.layers);
    CHECK(training::layers_of(shape, layout, 0).count() == known.on_first);
    CHECK(training::layers_of(shape, layout, known.pp > 1 ? 1 : 0).count() == known.on_second);
    CHECK(training::layers_of(shape, layout, known.pp - 1).count() == known.on_last);
}

TEST_CASE("the worked example of LLaMA 65B comes out", "[training][memory][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto figures = example();
    const auto shape = railhead::test::llama_65b();
    const auto layout = example_layout();

    const auto state =
        training::state_of(65.2e9 / 8, recipe("adam-mixed-fp32-grads"), layout.sharding, 144);
    const auto activations = 80 * training::korthikanti_activations(shape, layout).kept;

    const auto check = [&](double bytes, const char* quantity) {
        CAPTURE(quantity);
        CHECK_THAT(bytes / gb, WithinRel(figures.at(quantity), worked_out));
    };
    check(state.weights, "weights_bf16_tp8");
    check(state.gradients, "grads_fp32_tp8");
    check(state.optimizer, "optimizer_zero1");
    check(activations, "activations_tp_sp_selective_mb1");
    check(state.total() + activations, "hbm_total_before_overhead");
    check(65.2e9 * training::usual_recipe().in_memory(), "unsharded_16B_per_param");
}

TEST_CASE("the gradients of the worked example take as long", "[training][memory][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto figures = example();
    const auto sharded = training::gradient_traffic(65.2e9 / 8, recipe("adam-mixed-fp32-grads"),
                                                    Sharding::optimizer, 144);
    const auto plain =
        training::gradient_traffic(65.2e9 / 8, recipe("adam-mixed"), Sharding::none, 144);
    const auto check = [&](double value, const char* quantity) {
        CAPTURE(quantity);
        CHECK_THAT(value, WithinRel(figures.at(quantity), worked_out));
    };
    check(sharded.reduce_scatter / gb, "dp_reduce_scatter_fp32_per_gpu");
    check(sharded.all_gather / gb, "dp_all_gather_bf16_per_gpu");
    check(plain.total() / gb, "dp_all_reduce_bf16_per_gpu");
    check(sharded.total() / (0.9 * 25 * gb), "comm_time_HDR200_0.9eff");
    check(sharded.total() / (0.9 * 50 * gb), "comm_time_NDR400_0.9eff");
    check(sharded.total() / gb / (figures.at("step_time_1152_h100") * 2 / 3),
          "min_bw_full_overlap_backward");
}

TEST_CASE("ZeRO stage 3 gathers weights twice", "[training][memory]") {
    const auto traffic =
        training::gradient_traffic(1e9, recipe("adam-mixed"), Sharding::weights, 4);
    CHECK(traffic.reduce_scatter == 1.5e9);
    CHECK(traffic.all_gather == 3e9);
    CHECK(training::gradient_traffic(1e9, recipe("adam-mixed-grad-copies"), Sharding::none, 4)
              .reduce_scatter == 3e9);
}

TEST_CASE("a SwiGLU layer keeps the sum of its tensors", "[training][memory]") {
    // LLaMA 65B, bytes a token: norms 8 h = 65536, Q, K, V and output 8 h = 65536, softmax sums
    // 4 n = 256, MLP 6 f = 132096; together 263424, over tp 8.
    const auto shape = railhead::test::llama_65b();
    auto layout = example_layout();
    CHECK(training::formula_for(shape) == training::ActivationFormula::by_term);
    CHECK(training::layer_activations(shape, layout, 0).kept == 263424.0 / 8 * 2048);
    const auto memory = training::memory_per_gpu(shape, layout, recipe("adam-mixed-fp32-grads"));
    CHECK_THAT(memory.activations, WithinRel(5.3949e9, 1e-4));

    layout.sequence_parallel = false;  // norms are whole on each GPU
    CHECK(training::layer_activations(shape, layout, 0).kept == (65536 + 197888.0 / 8) * 2048);
    layout.sequence_parallel = true;
    layout.cp = 2;  // half of the tokens
    CHECK(training::layer_activations(shape, layout, 0).kept == 263424.0 / 8 * 1024);
    layout.cp = 1;
    layout.recompute = Recompute::full;  // the input; the rest of one layer while it is made anew
    CHECK(training::layer_activations(shape, layout, 0).kept == 16384.0 / 8 * 2048);
    CHECK(training::layer_activations(shape, layout, 0).recomputed == 247040.0 / 8 * 2048);
}

TEST_CASE("without flash attention scores are kept, or made anew", "[training][memory]") {
    const auto shape = railhead::test::llama_405b();
    Layout layout;
    layout.tp = 8;
    layout.flash_attention = false;
    // Scores 2 n s / t a token; K and V of 1 head repeated for 16: 4 d (16 - 1).
    const double core = 2.0 * 128 * 8192 / 8 + 4 * 128 * 15;
    layout.recompute = Recompute::selective;
    const auto selective = training::layer_activations(shape, layout, 0);
    CHECK(selective.recomputed == core * 8192);
    layout.recompute = Recompute::none;
    const auto all = training::layer_activations(shape, layout, 0);
    CHECK(all.kept == selective.kept + selective.recomputed);
    CHECK(all.recomputed == 0);
}

TEST_CASE("a layer with experts keeps what its chosen experts see", "[training][memory]") {
    // Mixtral 8x7B, bytes a token on one GPU: norms 8 h, attention 2 d (2 n + 2 kv) + 4 n = 20608,
    // pairs 2 x (4 h + 6 f), router 8 E.
    const auto shape = railhead::test::mixtral_8x7b();
    Layout layout;
    layout.sequence = 1;
    CHECK(training::layer_activations(shape, layout, 0).kept ==
          8 * 4096 + 20608 + 2 * (4.0 * 4096 + 6 * 14336) + 8 * 8);
    layout.ep = 8;  // choices spread evenly: the same number of pairs on each GPU
    CHECK(training::layer_activations(shape, layout, 0).kept ==
          8 * 4096 + 20608 + 2 * (4.0 * 4096 + 6 * 14336) + 8 * 8);
}

TEST_CASE("latent attention keeps compressed and unfolded tensors", "[training][memory]") {
    // DeepSeek-V3, layer 0 (plain MLP), bytes a token on one GPU: norms 8 h; compressed 2 x (2 x
    // (1536 + 512) + 64); heads 2 x 128 x (2 x 192 + 2 x 128); softmax 4 x 128; MLP 6 f.
    const auto shape = railhead::test::deepseek_v3();
    Layout layout;
    layout.sequence = 1;
    const double attention = 2 * (2.0 * 2048 + 64) + 2.0 * 128 * (2 * 192 + 2 * 128) + 512;
    CHECK(training::layer_activations(shape, layout, 0).kept == 8 * 7168 + attention + 6 * 18432);
    // Layer 3 has experts: 8 pairs and a shared one of 2048.
    CHECK(training::layer_activations(shape, layout, 3).kept ==
          8 * 7168 + attention + 8 * (4.0 * 7168) + 9 * 6.0 * 2048 + 8 * 256);
}

TEST_CASE("the published layout of Llama 3 405B comes out", "[training][memory]") {
    // A worked example of others: TP 8, PP 16, DP 128, ZeRO stage 2, sequence 8192.
    const auto shape = railhead::test::llama_405b();
    Layout layout;
    layout.tp = 8;
    layout.pp = 16;
    layout.dp = 128;
    layout.sharding = Sharding::gradients;

    const auto state =
        training::state_of(405.853e9 / (8 * 16), training::usual_recipe(), layout.sharding, 128);
    const auto activations = 126 * training::korthikanti_activations(shape, layout).kept;
    CHECK_THAT(state.weights / gb, WithinAbs(6.34, 0.005));
    CHECK_THAT(state.gradients / gb, WithinAbs(0.05, 0.005));
    CHECK_THAT(state.optimizer / gb, WithinAbs(0.30, 0.005));
    CHECK_THAT(activations / gb, WithinAbs(71.87, 0.005));

    // As it was trained: chunks of one layer, 8 on each stage, of which the first stage's first is
    // the embedding and the last stage's last the output.  143 chunks in flight, of 7 / 8 layers
    // with 31.78 T h / t each.
    layout.first_stage_layers = layout.last_stage_layers = 7;
    layout.interleave = 8;
    layout.microbatches = 32;
    const auto memory = training::memory_of_stage(shape, layout, training::usual_recipe(), 0);
    CHECK_THAT(memory.activations / gb,
               WithinRel(143 * 7.0 / 8 * 31.78125 * 8192 * 16384 / 8 / gb, 1e-9));
}

TEST_CASE("published layouts fit the memory that they ran in", "[training][memory][published]") {
    RAILHEAD_NEED_PUBLISHED();
    constexpr double mib = 1024.0 * 1024.0;
    const auto check = [](const training::Shape& shape, const Layout& layout, const char* with,
                          double memory_bytes, std::uint64_t gpus) {
        CAPTURE(layout.tp, layout.pp, layout.dp);
        CHECK(layout.gpus() == gpus);
        const auto memory = training::memory_per_gpu(shape, layout, recipe(with));
        CAPTURE(memory.needed(), memory.reserve, memory.stage);
        CHECK(training::fit_of(memory, memory_bytes) != Fit::no);
    };
    int rows = 0;
    for (const auto& row : read_published("llama3_table4")) {  // H100 80GB
        CAPTURE(row.text("seq"));
        Layout layout;
        layout.tp = whole(row, "tp");
        layout.cp = whole(row, "cp");
        layout.pp = whole(row, "pp");
        layout.dp = whole(row, "dp_consistent");
        layout.sequence = whole(row, "seq");
        layout.microbatches = whole(row, "batch_per_dp");
        layout.first_stage_layers = layout.last_stage_layers = 7;
        layout.interleave = 8;
        layout.sharding = Sharding::gradients;  // the paper's section 3.3.2
        check(railhead::test::llama_405b(), layout, "adam-mixed-fp32-grads", 81559 * mib,
              whole(row, "gpus"));
        ++rows;
    }
    const auto gpt_of = [](const PublishedRow& row) {
        return railhead::test::gpt(whole(row, "layers"), whole(row, "hidden"), whole(row, "heads"));
    };
    const auto layout_from = [](const PublishedRow& row) {
        Layout layout;
        layout.tp = whole(row, "tp");
        layout.pp = whole(row, "pp");
        layout.dp = whole(row, "dp");
        return layout;
    };
    for (const auto& row : read_published("megatron_sc21_table1")) {  // A100 80GB
        CAPTURE(row.text("params_b"));
        auto layout = layout_from(row);
        layout.recompute = Recompute::full;
        layout.sharding = Sharding::none;  // before the distributed optimizer
        layout.flash_attention = layout.sequence_parallel = false;
        check(gpt_of(row), layout, "adam-mixed-fp32-grads", 81920 * mib, whole(row, "gpus"));
        ++rows;
    }
    for (const auto& row : read_published("megatron_core_h100")) {
        CAPTURE(row.text("model"));
        auto shape = gpt_of(row);
        shape.sequence = 4096;
        shape.vocabulary = 131072;
        check(shape, layout_from(row), "adam-mixed-fp32-grads", 81559 * mib, whole(row, "gpus"));
        ++rows;
    }
    CHECK(rows == 3 + 10 + 9);
}

TEST_CASE("parameters of one GPU add up to the published model", "[training][memory]") {
    struct Case {
        training::Shape shape;
        double published;
        double tolerance;
        const char* why;
    };
    for (const auto& known : {
             Case{railhead::test::llama_65b(), 65.2e9, 2e-3, "printed with three digits"},
             Case{railhead::test::llama_405b(), 405.853e9, 1e-5, "grouped attention"},
             Case{railhead::test::mixtral_8x7b(), 46.7e9, 1e-3, "experts"},
             Case{railhead::test::deepseek_v3(), 671e9, 1e-3, "latent attention, shared experts"},
             Case{railhead::test::gpt(96, 12288, 96), 174.6e9, 1e-3, "SC21 table 1: 174.6B"},
         }) {
        CAPTURE(known.shape.name, known.why);
        CHECK_THAT(parameters(known.shape), WithinRel(known.published, known.tolerance));
        CHECK_THAT(parameters(known.shape),
                   WithinRel(training::count_parameters(known.shape).total(), 1e-12));
    }
}

TEST_CASE("parameters over all GPUs are those of one, but for copies", "[training][memory]") {
    const auto shape = railhead::test::deepseek_v3();
    Layout layout;
    layout.pp = 16;
    layout.ep = 64;
    double common = 0;
    double experts = 0;
    for (std::uint64_t stage = 0; stage < layout.pp; ++stage) {
        const auto of = training::parameters_of(shape, layout, stage);
        common += of.common;
        experts += of.experts;
    }
    const auto all = training::parameters_of(shape, Layout{}, 0);
    CHECK_THAT(common, WithinRel(all.common));
    CHECK_THAT(experts * 64, WithinRel(all.experts));
}

TEST_CASE("experts are sharded over fewer copies than the rest", "[training][memory]") {
    const auto shape = railhead::test::mixtral_8x7b();
    Layout layout;
    layout.ep = 8;
    layout.dp = 4;
    const auto parameters = training::parameters_of(shape, layout, 0);
    const auto memory = training::memory_of_stage(shape, layout, training::usual_recipe(), 0);
    CHECK_THAT(memory.state.optimizer,
               WithinRel(12 * parameters.common / 32 + 12 * parameters.experts / 4));
    CHECK_THAT(memory.state.weights, WithinRel(2 * (parameters.common + parameters.experts)));
}

TEST_CASE("the last stage is told of where it needs most", "[training][memory]") {
    // Full recomputation, a large vocabulary: embedding and logits outweigh layers.
    auto shape = railhead::test::llama_65b();
    shape.layers = 4;
    shape.hidden = 1024;
    shape.heads = shape.key_value_heads = 8;
    shape.ffn = 2816;
    shape.vocabulary = 256000;
    Layout layout;
    layout.pp = 4;
    layout.recompute = Recompute::full;
    const auto memory = training::memory_per_gpu(shape, layout, training::usual_recipe());
    CHECK(memory.stage == 3);
    CHECK(memory.logits == 2048.0 * (4 * 1024 + 6 * 256000));
}

TEST_CASE("ZeRO stage 3 gathers two layers", "[training][memory]") {
    const auto shape = railhead::test::llama_65b();
    Layout layout;
    layout.dp = 256;
    layout.sharding = Sharding::weights;
    const auto memory = training::memory_per_gpu(shape, layout, training::usual_recipe());
    const double layer = 4.0 * 8192 * 8192 + 3.0 * 8192 * 22016 + 2 * 8192;
    CHECK_THAT(memory.gathered, WithinRel(2 * 2 * layer));
    CHECK_THAT(memory.state.total(), WithinRel(16 * parameters(shape) / 256));
}

TEST_CASE("what fits only without the reserve is tight", "[training][memory]") {
    const auto memory = training::memory_per_gpu(railhead::test::llama_65b(), example_layout(),
                                                 recipe("adam-mixed-fp32-grads"));
    CHECK(memory.reserve > 0.5e9);
    CHECK_THAT(memory.total(), WithinRel(memory.needed() + memory.reserve));
    CHECK(training::fit_of(memory, 80e9) == Fit::fits);
    CHECK(training::fit_of(memory, memory.needed()) == Fit::tight);
    CHECK(training::fit_of(memory, memory.needed() - 1) == Fit::no);
    CHECK(training::to_string(Fit::tight) == "tight");
}
