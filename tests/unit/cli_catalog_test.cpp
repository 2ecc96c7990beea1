// railhead catalog, whole command lines.
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/temp_dir.hpp"

using railhead::test::Ran;
using railhead::test::run;

namespace {

Ran catalog(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "catalog");
    return run(arguments);
}

}  // namespace

TEST_CASE("catalog lists all, in 80 columns", "[cli][catalog]") {
    const auto all = catalog({});
    CHECK(all.status == 0);
    CHECK(all.err.empty());
    for (const auto* part : {"h100-sxm", "ndr", "llama-3-8b"}) {
        CHECK_THAT(all.out, ContainsSubstring(part));
    }
    for (const auto& arguments : {std::vector<std::string>{},
                                  {"accelerators", "h100"},
                                  {"accelerators", "gb200"},
                                  {"nics", "efa-v3"},
                                  {"models", "deepseek-v3"},
                                  {"models", "mistral-7b"}}) {
        const auto text = catalog(arguments).out;
        for (const auto line : railhead::split(text, '\n')) {
            CAPTURE(line);
            CHECK(railhead::report::columns(line) <= 80);
        }
    }
}

TEST_CASE("catalog tells all of one, with its source", "[cli][catalog]") {
    const auto gpu = catalog({"accelerators", "H100"});
    CHECK(gpu.status == 0);
    for (const auto* part : {"794.5 (80.3 %)", "62.5 %, by \"matrices\"", "85.5 GB",
                             "450 GB/s each way", "stas00/ml-engineering", "with sparsity"}) {
        CHECK_THAT(gpu.out, ContainsSubstring(part));
    }
    CHECK_THAT(catalog({"accelerators", "h100-nvl"}).out,
               ContainsSubstring("not verified      memory_bandwidth_gb_s"));
    CHECK_THAT(catalog({"accelerators", "gb300"}).out, ContainsSubstring("fp4        15000"));
    const auto model = catalog({"models", "deepseek-v3"});
    for (const auto* part : {"8 of 256 and 1 shared", "37.55 B", "671 B", "arXiv:2412.19437",
                             "matrices-causal  260 "}) {
        CHECK_THAT(model.out, ContainsSubstring(part));
    }
}

TEST_CASE("a typo gets a suggestion", "[cli][catalog]") {
    CHECK_THAT(catalog({"model"}).err, ContainsSubstring("did you mean \"models\"?"));
    CHECK_THAT(catalog({"models", "lama-3-8b"}).err,
               ContainsSubstring("did you mean \"llama-3-8b\"?"));
    CHECK_THAT(catalog({"nics", "ndr40"}).err, ContainsSubstring("did you mean \"ndr400\"?"));
    CHECK(catalog({"accelerators", "h1000"}).status == 2);
    CHECK_THAT(catalog({"models", "gpt-2"}).err, ContainsSubstring("did you mean \"gpt-2-xl\"?"));
    CHECK_THAT(catalog({"models", "llama3"}).err,
               ContainsSubstring("did you mean one of llama-3-8b, llama-3-70b, llama-3-405b"));
}

TEST_CASE("a name of another part of the catalogue is told", "[cli][catalog]") {
    struct Case {
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>(
        {{{"models", "h100"},
          "no model is named \"h100\", but an accelerator is: railhead catalog accelerators "
          "h100-sxm"},
         {{"nics", "llama-3-8b"}, "but a model is: railhead catalog models llama-3-8b"},
         {{"accelerators", "NDR"}, "but a NIC is: railhead catalog nics ndr"}}));
    CAPTURE(c.expected);
    const auto ran = catalog(c.arguments);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, ContainsSubstring(c.expected));
}

TEST_CASE("a formula is told with what is counted besides", "[cli][catalog]") {
    const auto model = catalog({"models", "deepseek-v3"});
    std::string words;
    for (const auto line : railhead::split_words(model.out)) {
        words += std::string{line} + " ";
    }
    for (const auto* part :
         {"18 h f for each of 8 + 1 shared of 256 experts, f = 2048, in 59 layers",
          "MLA, its projections by their ranks", "N of the 8 + 1 shared of 256 experts"}) {
        INFO(model.out);
        CHECK(words.find(part) != std::string::npos);
    }
}

TEST_CASE("sizes make a model, or change one", "[cli][catalog]") {
    const auto typed =
        catalog({"models", "--layers", "80", "--hidden", "8192", "--heads", "64", "--kv-heads", "8",
                 "--ffn", "28672", "--vocabulary", "128256", "--sequence", "8192"});
    CHECK(typed.status == 0);
    CHECK_THAT(typed.out, ContainsSubstring("all        70.55 B"));
    CHECK_THAT(typed.out, ContainsSubstring("the command line"));
    const auto named = catalog({"models", "llama-3-70b", "--sequence", "131072"});
    CHECK_THAT(named.out, ContainsSubstring("131072 tokens"));
    CHECK_THAT(catalog({"models", "mixtral-8x7b", "--active-experts", "1"}).out,
               ContainsSubstring("1 of 8"));
}

TEST_CASE("each size that cannot be is refused by its option", "[cli][catalog]") {
    struct Case {
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>(
        {{{"models", "llama-3-8b", "--layers", "many"}, "--layers \"many\" is no size"},
         {{"models", "llama-3-8b", "--hidden", "4096.5"}, "--hidden \"4096.5\" is no size"},
         {{"models", "llama-3-8b", "--mlp", "swiglu"}, "neither plain nor gated"},
         {{"models", "llama-3-8b", "--params", "-1"}, "--params"},
         {{"models", "llama-3-8b", "--heads", "3"}, "3 heads do not divide hidden"},
         {{"nics", "--layers", "3"}, "sizes are those of a model"},
         {{"models", "--layers", "3"}, "no \"hidden\""},
         {{"models", "llama-3-8b", "--hf-config", "x"}, "say one of them"},
         {{"models", "--hf-config", "/nonexistent"}, "/nonexistent"}}));
    CAPTURE(c.expected);
    const auto ran = catalog(c.arguments);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, ContainsSubstring(c.expected));
}

TEST_CASE("a file of the site counts, and tells what is wrong with it", "[cli][catalog]") {
    const railhead::test::TempDir folder;
    const auto good = folder.write("good.toml",
                                   "[[nic]]\nname = \"slingshot-11\"\nport_gbit_s = 200\n"
                                   "source = \"HPE\"\n");
    const auto bad = folder.write("bad.toml", "[[nic]]\nname = \"n\"\nport = 200\n");
    CHECK_THAT(catalog({"nics", "slingshot-11", "--catalog", good}).out,
               ContainsSubstring("200 Gb/s, 25 GB/s each way"));
    const auto refused = catalog({"nics", "--catalog", good, "--catalog", bad});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("bad.toml:3:1: unknown key \"port\""));
    const auto config = folder.write("config.json",
                                     R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48,
                                  "n_head": 25, "n_positions": 1024, "vocab_size": 50257})");
    CHECK_THAT(catalog({"models", "--hf-config", config}).out,
               ContainsSubstring("all        1.558 B"));
}

TEST_CASE("the site's catalogue lies beside slurm.conf, or where a variable says",
          "[cli][catalog]") {
    const railhead::test::TempDir folder;
    const auto row = [](const std::string& name) {
        return "[[nic]]\nname = \"" + name + "\"\nport_gbit_s = 200\nsource = \"us\"\n";
    };
    folder.write("railhead-catalog.toml", row("beside"));
    const auto other = folder.write("other.toml", row("other"));
    const railhead::test::ScopedVariable conf{"SLURM_CONF", folder.path("slurm.conf")};
    CHECK(catalog({"nics", "beside"}).status == 0);
    CHECK(catalog({"nics", "other"}).status == 2);
    const railhead::test::ScopedVariable named{"RAILHEAD_CATALOG", other};
    CHECK(catalog({"nics", "beside"}).status == 2);
    CHECK(catalog({"nics", "other"}).status == 0);
    const railhead::test::ScopedVariable gone{"RAILHEAD_CATALOG", "/nonexistent"};
    CHECK_THAT(catalog({"nics"}).err, ContainsSubstring("/nonexistent"));
}

TEST_CASE("catalog writes JSON", "[cli][catalog]") {
    const auto all = nlohmann::json::parse(catalog({"--json"}).out);
    CHECK(all["schema"] == "railhead.catalog/1");
    CHECK(all["accelerators"].size() > 20);
    CHECK(all["nics"].size() > 5);
    CHECK(all["models"].size() > 50);
    const auto one = nlohmann::json::parse(catalog({"accelerators", "h100", "--json"}).out);
    CHECK(one["models"].empty());
    REQUIRE(one["accelerators"].size() == 1);
    const auto& h100 = one["accelerators"][0];
    CHECK(h100["precisions"]["bf16"]["peak_tflops"] == 989.4);
    CHECK(h100["precisions"]["bf16"]["highest_mfu"] == 0.625);
    CHECK(h100["precisions"]["fp16"]["matmul_tflops"].is_null());
    CHECK(h100["memory_bytes"] == 85520809984);
    const auto model = nlohmann::json::parse(catalog({"models", "mixtral-8x7b", "--json"}).out);
    const auto& mixtral = model["models"][0];
    CHECK(mixtral["experts"]["active"] == 2);
    CHECK(mixtral["latent"].is_null());
    CHECK(mixtral["parameters"]["total"] == 46702792704);
    CHECK(mixtral["flops"].size() == 8);
}
