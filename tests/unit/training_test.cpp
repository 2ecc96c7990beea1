// Parameters, FLOPs and MFU, by hand.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "training/catalogue.hpp"
#include "training/mfu.hpp"
#include "training/parameters.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinRel;
using railhead::Errc;
using training::Convention;
using training::Doubt;
using training::Precision;
using training::Recompute;
using training::Shape;

namespace {

const training::Catalogue& built_in() {
    return training::built_in_catalogue();
}

Shape model(std::string_view name) {
    return **training::find_model(built_in(), name);
}

const training::Accelerator& accelerator(std::string_view name) {
    return **training::find_accelerator(built_in(), name);
}

const Convention& convention(std::string_view name) {
    return **training::find_convention(name);
}

double flops(const Shape& shape, std::string_view by) {
    return training::flops_per_token(shape, convention(by)).value().total();
}

/// A model that is counted in the head: hidden 8, two heads.
Shape small() {
    Shape shape;
    shape.layers = 2;
    shape.hidden = 8;
    shape.heads = 2;
    shape.ffn = 16;
    shape.vocabulary = 100;
    shape.sequence = 10;
    return shape;
}

}  // namespace

TEST_CASE("the parameters of a model are those that were published", "[training]") {
    struct Case {
        std::string name;
        double total, active, tolerance;
        std::string source;
    };
    const auto c = GENERATE(values<Case>(
        {{"llama-3-8b", 8'030'261'248, 8'030'261'248, 0, "the checkpoint"},
         {"llama-3-70b", 70'553'706'496, 70'553'706'496, 0, "the checkpoint"},
         {"llama-3-405b", 405'853'388'800, 405'853'388'800, 0, "the checkpoint"},
         {"llama-2-7b", 6'738'415'616, 6'738'415'616, 0, "the checkpoint"},
         {"llama-3.2-1b", 1'235'814'400, 1'235'814'400, 0, "the checkpoint, tied"},
         {"mistral-7b", 7'241'732'096, 7'241'732'096, 0, "the checkpoint"},
         {"mixtral-8x7b", 46.7e9, 12.9e9, 2e-3, "arXiv:2401.04088"},
         {"deepseek-v3", 671e9, 37e9, 0.016, "arXiv:2412.19437, without the further layer"},
         {"deepseek-v2", 236e9, 21e9, 0.02, "arXiv:2405.04434"},
         {"qwen2.5-7b", 7'615'616'512, 7'615'616'512, 0, "the checkpoint, biases of inputs"},
         {"qwen3-30b-a3b", 30.5e9, 3.3e9, 0.02, "arXiv:2505.09388"},
         {"qwen3-235b-a22b", 235e9, 22e9, 0.01, "arXiv:2505.09388"},
         {"gpt-2-xl", 1'557'611'200, 1'557'611'200, 0, "the checkpoint, learned positions"},
         {"palm-540b", 540.35e9, 540.35e9, 1e-4, "arXiv:2204.02311, one key/value head"},
         {"grok-1", 314e9, 86e9, 0.03, "xai-org/grok-1: 25 % active, and attention"}}));
    CAPTURE(c.name, c.source);
    const auto parameters = training::count_parameters(model(c.name));
    if (c.tolerance == 0) {
        CHECK(parameters.total() == c.total);
        CHECK(parameters.active() == c.active);
    } else {
        CHECK_THAT(parameters.total(), WithinRel(c.total, c.tolerance));
        CHECK_THAT(parameters.active(), WithinRel(c.active, c.tolerance));
    }
}

TEST_CASE("every model of the catalogue counts what it says was published", "[training]") {
    std::size_t counted = 0;
    for (const auto& shape : built_in().models) {
        CAPTURE(shape.name);
        REQUIRE(shape.published_parameters);
        CHECK_FALSE(shape.source.empty());
        // GPT-3 prints 350M for 356M; SC21 1.7B for 1.65B.
        CHECK_THAT(training::count_parameters(shape).total(),
                   WithinRel(*shape.published_parameters, 0.03));
        ++counted;
    }
    CHECK(counted > 50);
}

TEST_CASE("FLOPs of a token follow from the matrices it meets", "[training]") {
    auto shape = small();
    // A layer: 4 x 64 of attention, 3 x 128 of the MLP; the logits: 800.
    const double layers = 6.0 * 2 * (4 * 64 + 3 * 128);
    const double core = 12.0 * 2 * 8 * 10;
    CHECK(flops(shape, "matrices") == layers + core + 6 * 800);
    CHECK(flops(shape, "matrices-causal") == layers + core / 2 + 6 * 800);

    SECTION("of a plain MLP, a third less") {
        shape.mlp = training::Mlp::plain;
        CHECK(flops(shape, "matrices") == layers - 6.0 * 2 * 128 + core + 6 * 800);
    }
    SECTION("of shared keys and values, half of theirs") {
        shape.key_value_heads = 1;
        CHECK(flops(shape, "matrices") == layers - 6.0 * 2 * 64 + core + 6 * 800);
    }
    SECTION("of wider heads, in proportion") {
        shape.head = 8;
        CHECK(flops(shape, "matrices") == layers + 6.0 * 2 * 4 * 64 + 2 * core + 6 * 800);
    }
    SECTION("of a window, the tokens that it reaches") {
        shape.window = 5;
        shape.window_layers = 1;
        CHECK(flops(shape, "matrices") == layers + core * 0.75 + 6 * 800);
        // Each token sees 5, but the first ones: 5 - 25/20 = 3.75 on average, and 5 in the other.
        CHECK(flops(shape, "matrices-causal") == layers + core / 2 * (3.75 + 5) / 10 + 6 * 800);
    }
    SECTION("of experts, those that it goes through") {
        shape.experts = training::Experts{.count = 8, .active = 2, .shared = 1, .ffn = 4};
        CHECK(flops(shape, "matrices") == 6.0 * 2 * (4 * 64 + 3 * 3 * 32) + core + 6 * 800);
        shape.experts->dense_layers = 1;
        CHECK(flops(shape, "matrices") ==
              6.0 * (2 * 4 * 64 + 3 * 3 * 32 + 3 * 128) + core + 6 * 800);
    }
    SECTION("of a layer more that predicts a further token, with its logits") {
        shape.mtp_layers = 1;
        CHECK(flops(shape, "matrices") == 1.5 * (layers + core) + 6.0 * 2 * 64 + 2 * 6 * 800);
    }
}

TEST_CASE("the 6N formulas count what their authors count", "[training]") {
    auto shape = small();
    const auto n = training::count_parameters(shape).total();
    CHECK(n == 2 * (4 * 64 + 3 * 128) + 2 * 800 + 5 * 8);
    const double core = 12.0 * 2 * 8 * 10;
    CHECK(flops(shape, "6nd") == 6 * n);
    CHECK(flops(shape, "palm") == 6 * n + core);
    CHECK(flops(shape, "torchtitan") == 6 * (n - 800) + core);
    CHECK(flops(shape, "megatron-bridge") == 6 * (n - 800) + core / 2);

    SECTION("an embedding that is the output too does work") {
        shape.tied = true;
        CHECK(flops(shape, "torchtitan") == 6 * (n - 800) + core);
        CHECK(flops(shape, "palm") == 6 * (n - 800) + core);
    }
    SECTION("parameters that are said count in place of the sum") {
        shape.parameters = 1e6;
        CHECK(flops(shape, "palm") == 6e6 + core);
    }
    SECTION("6nd needs the parameters alone") {
        Shape nothing_else;
        nothing_else.parameters = 70e9;
        CHECK(flops(nothing_else, "6nd") == 420e9);
        CHECK_FALSE(training::flops_per_token(nothing_else, convention("palm")));
    }
}

TEST_CASE("what is counted beside a formula's terms is told, and nothing where they are all",
          "[training]") {
    auto gpt = small();
    gpt.mlp = training::Mlp::plain;
    gpt.ffn = 32;
    auto gated = small();
    gated.key_value_heads = 1;
    auto wide_heads = small();
    wide_heads.head = 6;
    auto windowed = small();
    windowed.window = 4;
    windowed.window_layers = 1;
    auto experts = small();
    experts.experts = training::Experts{16, 2, 1, 24, 1};
    auto plain_experts = experts;
    plain_experts.mlp = training::Mlp::plain;
    auto tied = small();
    tied.tied = true;
    auto further = small();
    further.mtp_layers = 1;
    auto latent = small();
    latent.latent = training::Latent{4, 4, 2, 3, 5};
    struct Case {
        std::string why;
        Shape shape;
        std::string_view by;
        std::string besides;
    };
    const std::vector<Case> cases{
        {"a Llama", gated, "matrices", ""},
        {"a GPT", gpt, "korthikanti", ""},
        {"a GPT by SwiGLU's formula", gpt, "matrices", "12 L h f for an MLP of two matrices"},
        {"a Llama by a GPT's formula", gated, "korthikanti",
         "the layers matrix by matrix, in place of a GPT's 72 L h^2"},
        {"N has all matrices", gpt, "palm", ""},
        {"heads that are not h wide together", wide_heads, "palm",
         "2 heads of 6, 12 wide together, in place of h"},
        {"no attention counted", wide_heads, "6nd", ""},
        {"a window", windowed, "matrices", "s at most 4 in 1 layer"},
        {"experts", experts, "matrices",
         "18 h f for each of 2 + 1 shared of 16 experts, f = 24, in 1 layer, 18 h f with f = 16 "
         "in 1"},
        {"experts of two matrices", plain_experts, "sc21",
         "the layers matrix by matrix, in place of a GPT's 72 L h^2; 12 h f for each of 2 + 1 "
         "shared of 16 experts, f = 24, in 1 layer, 12 h f with f = 16 in 1"},
        {"experts in N", experts, "6nd",
         "N of the 2 + 1 shared of 16 experts that a token goes through"},
        {"latent attention", latent, "matrices",
         "MLA, its projections by their ranks; attention core 6 n (d + v) s with d = 5, v = 5"},
        {"latent attention in N", latent, "palm", "attention core 6 n (d + v) s with d = 5, v = 5"},
        {"further tokens", further, "matrices",
         "1 layer more for further tokens, with 12 h^2 and 6 V h of its own"},
        {"an embedding that is the output", tied, "torchtitan",
         "V h stays in N: it is the output matrix too"},
    };
    for (const auto& [why, shape, by, besides] : cases) {
        CAPTURE(why);
        CHECK(training::counted_besides(shape, convention(by)) == besides);
    }
}

TEST_CASE("what is recomputed is in the hardware's FLOPs", "[training]") {
    const training::TokenFlops model_flops{600, 300, 90};
    const auto done = [&](std::string_view by, Recompute recompute) {
        return training::hardware_flops(model_flops, convention(by), recompute);
    };
    CHECK(done("matrices", Recompute::none) == 990);
    CHECK(done("matrices", Recompute::selective) == 990 + 100);
    CHECK(done("korthikanti", Recompute::selective) == 990 + 300);
    CHECK(done("matrices", Recompute::full) == 990 + 300);
}

TEST_CASE("a shape that cannot be is refused, by name", "[training]") {
    struct Case {
        std::string expected;
        void (*spoil)(Shape&);
    };
    const auto c = GENERATE(values<Case>(
        {{"no \"layers\"", [](Shape& s) { s.layers = 0; }},
         {"no \"ffn\"", [](Shape& s) { s.ffn = 0; }},
         {"3 heads do not divide hidden 8", [](Shape& s) { s.heads = 3; }},
         {"4 key/value heads do not divide 2", [](Shape& s) { s.key_value_heads = 4; }},
         {"3 layers have a window, of 2", [](Shape& s) { s.window_layers = 3; }},
         {"no model has so much", [](Shape& s) { s.hidden = std::uint64_t{1} << 41U; }},
         {"no \"sequence\"",
          [](Shape& s) {
              s.positions = true;
              s.sequence = 0;
          }},
         {"through 9 experts, of 8",
          [](Shape& s) {
              s.experts = training::Experts{8, 9, 0, 4, 0};
          }},
         {"no \"latent.value_head\"",
          [](Shape& s) {
              s.latent = training::Latent{0, 4, 2, 4, 0};
          }},
         {"3 layers are without experts, of 2", [](Shape& s) {
              s.experts = training::Experts{8, 2, 0, 4, 3};
          }}}));
    auto shape = small();
    REQUIRE(training::check_shape(shape));
    c.spoil(shape);
    const auto right = training::check_shape(shape);
    REQUIRE_FALSE(right);
    CHECK(right.error().code == Errc::bad_input);
    CHECK_THAT(right.error().message, ContainsSubstring(c.expected));
}

TEST_CASE("MFU asks above what was published, warns above what matmuls reach", "[training]") {
    struct Case {
        std::string name;
        Precision precision;
        double mfu;
        Doubt expected;
    };
    const auto c = GENERATE(values<Case>({{"h100", Precision::bf16, 0.625, Doubt::none},
                                          {"h100", Precision::bf16, 0.626, Doubt::question},
                                          {"h100", Precision::bf16, 0.803, Doubt::question},
                                          {"h100", Precision::bf16, 0.804, Doubt::warning},
                                          {"h100", Precision::bf16, 0.999, Doubt::warning},
                                          {"h100", Precision::bf16, 1.001, Doubt::impossible},
                                          {"a100", Precision::bf16, 0.653, Doubt::none},
                                          {"a100", Precision::bf16, 0.66, Doubt::question},
                                          {"a100", Precision::bf16, 0.87, Doubt::warning},
                                          {"h100", Precision::fp8, 0.44, Doubt::none},
                                          {"h100", Precision::fp8, 0.46, Doubt::question},
                                          {"h100", Precision::fp8, 0.72, Doubt::warning},
                                          {"l40s", Precision::bf16, 0.99, Doubt::none}}));
    CAPTURE(c.name, c.mfu);
    const auto& gpu = accelerator(c.name);
    training::Utilization about;
    about.mfu = about.hfu = c.mfu;
    about.peak_tflops = gpu.peak_tflops(c.precision).value();
    about.convention = &convention("palm");
    const auto judgement = training::judge(about, gpu, c.precision);
    CHECK(judgement.doubt == c.expected);
    CHECK(judgement.reason.empty() == (c.expected == Doubt::none));
}

TEST_CASE("a doubt names the figure it compares with, and the convention", "[training]") {
    training::Utilization about;
    about.mfu = about.hfu = 0.7;
    about.peak_tflops = 989.4;
    about.convention = &convention("palm");
    const auto asked = training::judge(about, accelerator("h100"), Precision::bf16);
    CHECK_THAT(asked.reason, ContainsSubstring("70.0 % is above 62.5 %"));
    CHECK_THAT(asked.reason, ContainsSubstring("dgxc-benchmarking"));
    CHECK_THAT(asked.reason, ContainsSubstring("\"palm\""));
    about.mfu = about.hfu = 1.4;
    const auto refused = training::judge(about, accelerator("h100"), Precision::bf16);
    CHECK_THAT(refused.reason, ContainsSubstring("989.4 TFLOP/s"));
}

TEST_CASE("a published MFU is compared by its own convention", "[training]") {
    // 62.5 % of H100 is by full attention.
    const auto& gpu = accelerator("h100");
    training::Utilization full;
    full.mfu = full.hfu = 0.64;
    full.peak_tflops = 989.4;
    full.convention = &convention("matrices");
    auto simple = full;
    simple.mfu = simple.hfu = 0.52;
    simple.convention = &convention("6nd");
    CHECK(training::judge(simple, gpu, Precision::bf16).doubt == Doubt::none);
    const auto asked = training::judge(simple, gpu, Precision::bf16, {&full, 1});
    CHECK(asked.doubt == Doubt::question);
    CHECK_THAT(asked.reason, ContainsSubstring("64.0 % is above 62.5 %"));
    CHECK_THAT(asked.reason, ContainsSubstring("\"matrices\""));
}

TEST_CASE("a rate that means nothing has no MFU", "[training]") {
    const auto shape = model("llama-3-8b");
    const training::Rate good{.tokens_per_s = 1e4, .gpus = 8, .peak_tflops = 989.4};
    REQUIRE(training::utilization(shape, good, convention("palm")));
    for (const auto spoil :
         {&training::Rate::tokens_per_s, &training::Rate::gpus, &training::Rate::peak_tflops}) {
        for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
            auto rate = good;
            rate.*spoil = value;
            CHECK_FALSE(training::utilization(shape, rate, convention("palm")));
        }
    }
    CHECK_FALSE(training::tokens_per_s(512, 4096, 0));
    CHECK(training::tokens_per_s(512, 4096, 2).value() == 512 * 4096 / 2.0);
}
