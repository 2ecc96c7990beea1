// The catalogue: names, values, files of a site, and config.json of Hugging Face.
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "training/catalogue.hpp"
#include "training/flops.hpp"
#include "training/hf_config.hpp"
#include "training/parameters.hpp"

namespace training = railhead::training;
using railhead::Errc;
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

const training::Convention& convention(std::string_view name) {
    return **training::find_convention(name);
}

double flops(const Shape& shape, std::string_view by) {
    return training::flops_per_token(shape, convention(by)).value().total();
}

}  // namespace

TEST_CASE("names are found as people write them", "[catalogue]") {
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

    // Nobody remembers which sizes there are.
    for (const auto* family : {"llama-3", "lama-3"}) {
        const auto several = training::find_model(built_in(), family);
        REQUIRE_FALSE(several);
        CHECK_THAT(several.error().message,
                   ContainsSubstring("did you mean one of llama-3-8b, llama-3-70b, "));
    }
    CHECK(training::find_model(built_in(), "zebra").error().message ==
          "no model is named \"zebra\" (railhead catalog lists those that are known)");
}

TEST_CASE("peaks of the catalogue are dense, and sold memory is not the driver's", "[catalogue]") {
    const auto& h100 = accelerator("h100");
    CHECK(h100.bf16_tflops == 989.4);
    CHECK(h100.fp8_tflops == 1978.9);
    CHECK(h100.memory_bytes == 81559.0 * 1024 * 1024);
    CHECK_FALSE(h100.memory_as_sold);
    CHECK(accelerator("mi325x").memory_bytes == 256e9);
    CHECK(accelerator("mi325x").memory_as_sold);
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

TEST_CASE("a site's file adds rows and changes values", "[catalogue]") {
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

TEST_CASE("a figure that a site changes is the site's, unless it names a source", "[catalogue]") {
    struct Case {
        std::string why, row, source;
        bool keeps;  ///< the built-in source stands behind it
    };
    const auto c = GENERATE(values<Case>(
        {{"one figure", "power_w = 650\n", "site.toml (power_w); the rest: ", true},
         {"two", "power_w = 650\npcie_gb_s = 60\n",
          "site.toml (pcie_gb_s, power_w); the rest: ", true},
         {"its own source", "power_w = 650\nsource = \"our meter\"\n", "our meter", false},
         {"no figure", "aliases = [\"big\"]\nnote = \"in hall 2\"\n", "", true}}));
    CAPTURE(c.why);
    auto catalogue = built_in();

    const auto errors = training::add_to_catalogue(
        catalogue, "[[accelerator]]\nname = \"h200-sxm\"\n" + c.row, "site.toml");

    REQUIRE(errors.empty());
    CHECK((*training::find_accelerator(catalogue, "h200-sxm"))->source ==
          c.source + (c.keeps ? accelerator("h200-sxm").source : ""));
}

TEST_CASE("a figure that a site gives is no longer unverified", "[catalogue]") {
    auto catalogue = built_in();
    const std::vector<std::string> before{"memory_bandwidth_gb_s"};
    REQUIRE(accelerator("h100-nvl").unverified == before);

    const auto errors = training::add_to_catalogue(
        catalogue,
        "[[accelerator]]\nname = \"h100-nvl\"\nmemory_bandwidth_gb_s = 3900\n"
        "[[accelerator.highest_mfu]]\nprecision = \"bf16\"\npercent = 40\n",
        "site.toml");

    REQUIRE(errors.empty());
    const auto& row = **training::find_accelerator(catalogue, "h100-nvl");
    CHECK(row.unverified.empty());
    CHECK(row.highest_mfu.front().source == "site.toml");
}

TEST_CASE("what is wrong with a catalogue is told with its place", "[catalogue]") {
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

TEST_CASE("config.json of Hugging Face gives the shape of the catalogue's model", "[catalogue]") {
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

TEST_CASE("a config.json without a length of sequences asks for it", "[catalogue]") {
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

TEST_CASE("a config.json that is wrong is refused, and says where", "[catalogue]") {
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
