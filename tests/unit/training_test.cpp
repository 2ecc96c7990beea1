// Parameters, FLOPs, MFU and the catalogue, by hand.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "training/catalogue.hpp"
#include "training/hf_config.hpp"
#include "training/mfu.hpp"
#include "training/parameters.hpp"

namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
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

TEST_CASE("names are found as people write them", "[training]") {
    CHECK(accelerator("H100").name == "h100-sxm");
    CHECK(accelerator("H100-SXM5-80GB").name == "h100-sxm");
    CHECK(accelerator("a100 sxm4 80gb").name == "a100-sxm-80gb");
    CHECK(model("Llama-3.1-8B").name == "llama-3-8b");
    CHECK(model("llama3_8b").name == "llama-3-8b");
    CHECK((*training::find_nic(built_in(), "IB NDR"))->port_bytes_per_s() == 50e9);
    const auto typo = training::find_accelerator(built_in(), "h10");
    REQUIRE_FALSE(typo);
    CHECK(typo.error().code == Errc::not_found);
    CHECK_THAT(typo.error().message, ContainsSubstring("did you mean \"h100\"?"));
    const auto way_off = training::find_convention("plam");
    REQUIRE_FALSE(way_off);
    CHECK_THAT(way_off.error().message, ContainsSubstring("did you mean \"palm\"?"));
}

TEST_CASE("peaks of the catalogue are dense, and sold memory is not the driver's", "[training]") {
    const auto& h100 = accelerator("h100");
    CHECK(h100.bf16_tflops == 989.4);
    CHECK(h100.fp8_tflops == 1978.9);
    CHECK(h100.memory_bytes == 81559.0 * 1024 * 1024);
    CHECK(h100.scale_up_bytes_per_s == 450e9);
    CHECK_FALSE(accelerator("v100").bf16_tflops);
    CHECK_FALSE(accelerator("l40s").scale_up_bytes_per_s);
    for (const auto& gpu : built_in().accelerators) {
        CAPTURE(gpu.name);
        for (const auto precision : training::precisions()) {
            const auto measured = gpu.measured_tflops(precision);
            CHECK((!measured || *measured < gpu.peak_tflops(precision).value()));
        }
        CHECK_FALSE(gpu.source.empty());
    }
}

TEST_CASE("a site's file adds rows and changes values", "[training]") {
    auto catalogue = built_in();
    const auto errors = training::add_to_catalogue(catalogue, R"([[accelerator]]
name = "h100-sxm"
power_w = 650

[[model]]
name = "ours"
layers = 2
hidden = 8
heads = 2
ffn = 16
vocabulary = 100
source = "our trainer"
)",
                                                   "site.toml");
    REQUIRE(errors.empty());
    const auto& h100 = **training::find_accelerator(catalogue, "h100");
    CHECK(h100.power_w == 650);
    CHECK(h100.bf16_tflops == 989.4);
    CHECK((*training::find_model(catalogue, "ours"))->layers == 2);
    CHECK(catalogue.models.size() == built_in().models.size() + 1);
}

TEST_CASE("what is wrong with a catalogue is told with its place", "[training]") {
    struct Case {
        std::string why, text, expected;
    };
    const auto c = GENERATE(values<Case>(
        {{"an unknown key", "[[model]]\nname = \"m\"\nlayer = 3\n",
          "c.toml:3:1: unknown key \"layer\", did you mean \"layers\"?"},
         {"a wrong type", "[[nic]]\nname = \"n\"\nport_gbit_s = \"fast\"\n",
          "c.toml:3:15: expected a number, not text"},
         {"one bracket", "[model]\nname = \"m\"\n", "written [[model]], with two brackets"},
         {"no name", "[[nic]]\nport_gbit_s = 100\n", "c.toml:1:1: a row of the catalogue needs"},
         {"no source", "[[nic]]\nname = \"n\"\nport_gbit_s = 100\n", "\"n\" needs a source"},
         {"half a model", "[[model]]\nname = \"m\"\nlayers = 2\nsource = \"s\"\n",
          "the model \"m\": the model has no \"hidden\""},
         {"no peak", "[[accelerator]]\nname = \"a\"\nmemory_gb = 80\nsource = \"s\"\n",
          "needs dense_tflops"},
         {"a word that is none", "[[model]]\nname = \"m\"\nmlp = \"swiglu\"\n",
          "expected one of \"plain\", \"gated\", not \"swiglu\""},
         {"no TOML", "[[model\n", "c.toml:1:"}}));
    CAPTURE(c.why);
    auto catalogue = built_in();
    const auto errors = training::add_to_catalogue(catalogue, c.text, "c.toml");
    REQUIRE_FALSE(errors.empty());
    std::string all;
    for (const auto& error : errors) {
        all += to_string(error) + "\n";
    }
    CHECK_THAT(all, ContainsSubstring(c.expected));
    CHECK(catalogue.models.size() == built_in().models.size());
}

TEST_CASE("config.json of Hugging Face gives the shape of the catalogue's model", "[training]") {
    struct Case {
        std::string name, text;
    };
    const auto c = GENERATE(values<Case>(
        {{"llama-3-8b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
            "vocab_size": 128256, "max_position_embeddings": 131072,
            "tie_word_embeddings": false})"},
         {"mistral-7b", R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
            "sliding_window": 4096, "vocab_size": 32000})"},
         {"mixtral-8x7b", R"({"model_type": "mixtral", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2,
            "sliding_window": null, "vocab_size": 32000})"},
         {"gpt-2-xl", R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25,
            "n_positions": 1024, "n_inner": null, "vocab_size": 50257})"},
         {"qwen2.5-7b", R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28,
            "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
            "sliding_window": 131072, "use_sliding_window": false, "max_window_layers": 28,
            "vocab_size": 152064, "tie_word_embeddings": false})"},
         {"qwen3-30b-a3b", R"({"model_type": "qwen3_moe", "hidden_size": 2048,
            "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
            "head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 768,
            "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936})"},
         {"deepseek-v3", R"({"model_type": "deepseek_v3", "hidden_size": 7168,
            "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
            "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
            "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
            "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128, "v_head_dim": 128, "num_nextn_predict_layers": 1,
            "vocab_size": 129280})"}}));
    CAPTURE(c.name);
    auto read = training::parse_hf_config(c.text, "config.json");
    REQUIRE(read);
    const auto ours = model(c.name);
    CHECK(training::count_parameters(*read).total() == training::count_parameters(ours).total());
    read->sequence = ours.sequence;
    CHECK(flops(*read, "matrices-causal") == flops(ours, "matrices-causal"));
}

TEST_CASE("a config.json without a length of sequences asks for it", "[training]") {
    const auto read = training::parse_hf_config(
        R"({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 8,
            "max_position_embeddings": 131072})",
        "config.json");
    REQUIRE(read);
    const auto counted = training::flops_per_token(*read, convention("palm"));
    REQUIRE_FALSE(counted);
    CHECK_THAT(counted.error().message, ContainsSubstring("say the sequence length"));
}

TEST_CASE("a config.json that is wrong is refused, and says where", "[training]") {
    struct Case {
        std::string why, text, expected;
    };
    const auto c = GENERATE(values<Case>(
        {{"cut off", "{\"model_type\":\n \"llama\",\n", "config.json:3:1: no JSON from here"},
         {"a comma too many", "{\"a\": 1,\n  }", "config.json:2:3: no JSON from here"},
         {"no model", "[]", "\"model_type\" is missing"},
         {"a model that is not known", "{\"model_type\": \"mamba\"}",
          "the model_type \"mamba\" is not known"},
         {"a key is missing", "{\"model_type\": \"llama\"}", "\"hidden_size\" is missing"},
         {"a key is of another kind", "{\"model_type\": \"llama\", \"hidden_size\": \"8\"}",
          "\"hidden_size\" must be a whole number, not \"8\""},
         {"a key is a list", R"({"model_type": "llama", "hidden_size": [[8]]})",
          "must be a whole number, not an array"},
         {"a size is negative", "{\"model_type\": \"llama\", \"hidden_size\": -8}",
          "must be a whole number, not -8"}}));
    CAPTURE(c.why);
    const auto read = training::parse_hf_config(c.text, "config.json");
    REQUIRE_FALSE(read);
    CHECK_THAT(to_string(read.error()), ContainsSubstring(c.expected));
}
