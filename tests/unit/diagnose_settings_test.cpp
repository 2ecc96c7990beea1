// Rules on the settings of a run, by each framework's configuration, and two whole cases: a slow
// run from its files to causes, costs and the MFU after each fix.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "diagnose/run_setup.hpp"
#include "diagnose/waterfall.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/diagnoses.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "support/temp_dir.hpp"
#include "support/training_logs.hpp"

namespace diagnose = railhead::diagnose;
namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using diagnose::Answer;
using diagnose::Finding;
using diagnose::Role;
using nlohmann::json;
using railhead::test::a100s;
using railhead::test::ask;
using railhead::test::facts_of;
using railhead::test::megatron_line;
using railhead::test::Ran;
using railhead::test::TempDir;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// 20 steps of 256 sequences.
std::string steps(double step_ms) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
        text += megatron_line(1000 + i, step_ms + (i * 7) % 5);
    }
    return text;
}

/// As Megatron-LM prints its arguments, then steps.
std::string megatron(const Settings& values, double step_ms = 60'000) {
    std::string text = "------------------------ arguments ------------------------\n";
    for (const auto& [name, value] : values) {
        text += fmt::format("  {} {} {}\n", name, std::string(48 - name.size(), '.'), value);
    }
    return text + "-------------------- end of arguments ---------------------\n" + steps(step_ms);
}

/// A GPT of 48 layers of 8192 on 64 A100s (8 nodes), in 8 replicas of 8 GPUs, sequences of 2048.
Settings gpt(const Settings& others) {
    Settings all = {{"num_layers", "48"},          {"hidden_size", "8192"},
                    {"num_attention_heads", "64"}, {"padded_vocab_size", "51200"},
                    {"seq_length", "2048"},        {"world_size", "64"},
                    {"data_parallel_size", "8"},   {"tensor_model_parallel_size", "8"}};
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

std::string deepspeed(std::string_view settings) {
    return fmt::format("{{\n  \"zero_optimization\": {{\"stage\": 1}},\n  {}\n}}\n", settings);
}

std::string torchtitan(std::string_view settings) {
    return fmt::format("[parallelism]\ntensor_parallel_degree = 1\n{}\n", settings);
}

std::string nemo(std::string_view settings) {
    return fmt::format("model:\n  tensor_model_parallel_size: 8\n{}\n", settings);
}

/// Megatron-LM's message when a checkpoint took so long.
std::string saves(int wait_s) {
    return fmt::format(
        "[2025-12-19 10:00:00] saving checkpoint at iteration    1019 to /ckpt\n"
        "[2025-12-19 10:{:02}:{:02}] successfully saved checkpoint at iteration 1019 "
        "to /ckpt\n",
        wait_s / 60, wait_s % 60);
}

/// The same log with steps of 16 sequences.
std::string with_batch_of_16(std::string text) {
    for (std::size_t at = 0; (at = text.find("size:   256", at)) != std::string::npos; ++at) {
        text.replace(at, 11, "size:    16");
    }
    return text;
}

struct Case {
    const char* rule;
    Answer expected;
    std::vector<std::string> files;
    const char* fix;  ///< what is to be in the first fix; empty: no matter
    const char* because;
};

/// Of 64 A100s with eight HDR NICs a node.
std::vector<Case> cases() {
    using enum Answer;
    const auto run = [](const Settings& others, double step_ms = 60'000) {
        return megatron(gpt(others), step_ms);
    };
    return {
        // 64 rows x 8192 x 1024: 60 FLOPs a byte, and an A100 computes 153 while it reads one.
        {"small-batch",
         found,
         {megatron({{"num_layers", "48"},
                    {"hidden_size", "8192"},
                    {"num_attention_heads", "64"},
                    {"padded_vocab_size", "51200"},
                    {"seq_length", "64"},
                    {"world_size", "64"},
                    {"tensor_model_parallel_size", "8"},
                    {"micro_batch_size", "1"}})},
         "--micro-batch-size 4",
         "64 rows: memory sets the pace"},
        {"small-batch", not_found, {run({{"micro_batch_size", "1"}})}, "", "2048 rows"},
        {"small-batch", unknown, {run({})}, "", "the micro-batch is not told"},
        // A step of 32,768 tokens in 1.8 s, 4,096 a replica.
        {"batch-per-network",
         found,
         {with_batch_of_16(run({{"global_batch_size", "16"}}, 1'800))},
         "global batch",
         "2 sequences a replica"},
        {"batch-per-network", not_found, {run({})}, "", "32 sequences a replica"},
        {"batch-per-network", unknown, {steps(1000)}, "", "no sizes"},
        {"gradients-not-overlapped",
         found,
         {run({{"overlap_grad_reduce", "False"}})},
         "--overlap-grad-reduce",
         "as told"},
        {"gradients-not-overlapped", not_found, {run({{"overlap_grad_reduce", "True"}})}, "", "on"},
        {"gradients-not-overlapped",
         not_found,
         {megatron({{"overlap_grad_reduce", "False"}, {"data_parallel_size", "1"}})},
         "",
         "one replica has no gradients to send"},
        {"gradients-not-overlapped", unknown, {run({})}, "", "not told"},
        {"gradients-not-overlapped",
         found,
         {steps(1000), deepspeed("\"zero_optimization\": {\"overlap_comm\": false}")},
         "\"overlap_comm\": true",
         "DeepSpeed's word"},
        {"gradients-not-overlapped",
         found,
         {steps(1000), nemo("  optim:\n    overlap_grad_sync: False")},
         "overlap_grad_sync: True",
         "NeMo's word"},
        {"small-buckets",
         found,
         {deepspeed("\"zero_optimization\": {\"reduce_bucket_size\": 1000000}")},
         "\"reduce_bucket_size\": 500000000",
         "2 MB"},
        {"small-buckets",
         not_found,
         {deepspeed("\"zero_optimization\": {\"reduce_bucket_size\": 5e8}")},
         "",
         "1 GB"},
        {"small-buckets", unknown, {deepspeed("\"steps_per_print\": 10")}, "", "not told"},
        {"no-flash-attention",
         found,
         {run({{"use_flash_attn", "False"}})},
         "--use-flash-attn",
         "as told"},
        {"no-flash-attention", not_found, {run({{"use_flash_attn", "True"}})}, "", "on"},
        {"no-flash-attention",
         not_found,
         {run({{"transformer_impl", "transformer_engine"}, {"use_flash_attn", "False"}})},
         "",
         "Transformer Engine takes a fused one by itself"},
        {"no-flash-attention",
         found,
         {run({{"attention_backend", "AttnBackend.unfused"},
               {"transformer_impl", "transformer_engine"}})},
         "--attention-backend flash",
         "turned off"},
        {"no-flash-attention",
         found,
         {nemo("  use_flash_attention: False")},
         "model.use_flash_attention: True",
         "NeMo's word"},
        {"no-flash-attention", unknown, {run({})}, "", "not told"},
        {"fp32-matrices", found, {run({{"params_dtype", "torch.float32"}})}, "--bf16", "FP32"},
        {"fp32-matrices", not_found, {run({{"bf16", "True"}})}, "", "BF16"},
        {"fp32-matrices",
         found,
         {deepspeed("\"bf16\": {\"enabled\": false}, \"fp16\": {\"enabled\": false}")},
         "\"bf16\": {\"enabled\": true}",
         "neither is on"},
        {"fp32-matrices",
         not_found,
         {deepspeed("\"bf16\": {\"enabled\": true}, \"fp16\": {\"enabled\": false}")},
         "",
         "one of the two is on"},
        {"fp32-matrices",
         found,
         {torchtitan("[training]\nmixed_precision_param = \"float32\"")},
         "mixed_precision_param = \"bfloat16\"",
         "torchtitan's word"},
        {"fp32-matrices",
         found,
         {nemo("trainer:\n  precision: 32")},
         "trainer.precision: bf16",
         "NeMo's word"},
        {"fp32-matrices", unknown, {run({})}, "", "not told"},
        {"few-loaders", found, {run({{"num_workers", "0"}})}, "--num-workers 4", "none"},
        {"few-loaders", not_found, {run({{"num_workers", "2"}})}, "", "two"},
        {"few-loaders",
         found,
         {nemo("  data:\n    num_workers: 4\n    pin_memory: False")},
         "model.data.pin_memory: True",
         "copies wait"},
        {"few-loaders", unknown, {run({})}, "", "not told"},
        // 8 nodes: a failure in 20.5 h x 923 h / 8... the optimum of 40 s is about 96 min.
        {"checkpoint-interval",
         found,
         {run({{"save_interval", "2"}}) + saves(40)},
         "--save-interval ",
         "each 2 minutes, 40 s"},
        {"checkpoint-interval",
         not_found,
         {run({{"save_interval", "100"}}) + saves(40)},
         "",
         "each 100 minutes"},
        {"checkpoint-interval",
         unknown,
         {run({{"save_interval", "2"}})},
         "",
         "what one takes is not told"},
        // The rules on the layout, by the other frameworks' files.
        {"tp-across-nodes",
         found,
         {"model:\n  tensor_model_parallel_size: 16\n"},
         "model.tensor_model_parallel_size: 8",
         "16 on nodes of 8"},
        {"tp-across-nodes",
         found,
         {"[parallelism]\ntensor_parallel_degree = 16\n"},
         "parallelism.tensor_parallel_degree = 8",
         "torchtitan's word"},
        {"full-recompute",
         found,
         {torchtitan("[activation_checkpoint]\nmode = \"full\"")},
         "activation_checkpoint.mode = \"selective\"",
         "torchtitan's word"},
        {"full-recompute",
         not_found,
         {torchtitan("[activation_checkpoint]\nmode = \"selective\"")},
         "",
         "the attention alone"},
        {"full-recompute",
         found,
         {nemo("  activations_checkpoint_granularity: full")},
         "model.activations_checkpoint_granularity: selective",
         "NeMo's word"},
        {"full-recompute", unknown, {torchtitan("[training]\nsteps = 10")}, "", "not told"},
        {"pipeline-bubble",
         found,
         {run({{"pipeline_model_parallel_size", "8"}, {"micro_batch_size", "8"}})},
         "--num-layers-per-virtual-pipeline-stage 2",
         "7 of 4 + 7; 6 layers a stage, 3 chunks"},
        {"pipeline-bubble",
         not_found,
         {run({{"pipeline_model_parallel_size", "8"},
               {"micro_batch_size", "1"},
               {"virtual_pipeline_model_parallel_size", "6"}})},
         "",
         "7 of 6 x 32 + 7"},
    };
}

Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), "diagnose");
    return railhead::test::run(words);
}

const std::string gpt_case = "cases/a100-128-no-gdr-rail-lost-bubble-recompute";
const std::string llama_case = "cases/h100-32-tcp-forced-recompute";

std::vector<std::string> files_of(const std::string& folder, const std::string& configuration) {
    std::vector<std::string> files;
    for (const auto& name : {std::string{"nccl.log"}, std::string{"train.log"}, configuration}) {
        files.push_back(railhead::test::data_file(folder + "/" + name));
    }
    return files;
}

struct Wanted {
    std::string id, role;
    double step_share, mfu_after;  ///< percent; 0: none is told
};

/// Findings in their order with their costs, and bars that close.
void check_case(const std::string& folder, const std::string& configuration, double mfu,
                const std::vector<Wanted>& findings,
                const std::vector<std::pair<std::string, double>>& bars) {
    auto words = files_of(folder, configuration);
    words.emplace_back("--json");
    const auto ran = run(words);
    REQUIRE(ran.status == 1);
    const auto document = json::parse(ran.out);
    CHECK(document["verdict"] == "cause found");
    REQUIRE(document["findings"].size() == findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const auto& is = document["findings"][i];
        CAPTURE(findings[i].id, is.dump());
        CHECK(is["id"] == findings[i].id);
        CHECK((is["consequence_of"].is_null() ? is["role"] : json("follows")) == findings[i].role);
        if (findings[i].step_share > 0) {
            CHECK_THAT(is["step_share"].get<double>() * 100,
                       WithinAbs(findings[i].step_share, 0.05));
            CHECK(is["expected"].get<std::string>().starts_with(
                fmt::format("MFU {:.1f} %", findings[i].mfu_after)));
        }
    }
    const auto& fall = document["waterfall"];
    CHECK_THAT(fall["mfu"].get<double>() * 100, WithinAbs(mfu, 0.02));
    CHECK(fall["scaled"] == false);
    double sum = fall["mfu"].get<double>();
    REQUIRE(fall["bars"].size() == bars.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const auto& bar = fall["bars"][i];
        CAPTURE(bar.dump());
        CHECK(bar["what"] == bars[i].first);
        CHECK_THAT(bar["share"].get<double>() * 100, WithinAbs(bars[i].second, 0.05));
        sum += bar["share"].get<double>();
    }
    CHECK_THAT(sum, WithinAbs(1, 1e-5));  // figures in JSON are rounded
}

/// The text is as it was read and found right, and fits.
void check_text(const std::string& folder, const std::string& configuration,
                const std::string& name) {
    const auto ran = run(files_of(folder, configuration));
    // Below it all other rules are listed, of which each new one is to change no golden file.
    const auto text = ran.out.substr(0, ran.out.find("\nLooked for and not found"));
    CHECK(text == railhead::test::golden("golden/diagnose/" + name, text));
    for (const auto line : railhead::split(ran.out, '\n')) {
        CAPTURE(line);
        CHECK(railhead::report::columns(line) <= 80);
    }
}

}  // namespace

TEST_CASE("settings that cost time are found in each framework's words", "[diagnose]") {
    for (const auto& c : cases()) {
        CAPTURE(c.rule, c.because);
        auto given = a100s(64);
        given.catalogue = &training::built_in_catalogue();
        const auto finding = ask(c.rule, facts_of(c.files, given));
        CHECK(name_of(finding.answer) == name_of(c.expected));
        CHECK((finding.answer == Answer::unknown) == !finding.missing.empty());
        if (finding.answer != Answer::found) {
            continue;
        }
        REQUIRE_FALSE(finding.evidence.empty());
        CHECK(finding.evidence[0].line > 0);
        CHECK_FALSE(finding.expected.empty());
        REQUIRE_FALSE(finding.fix.empty());
        CHECK_THAT(finding.fix[0], ContainsSubstring(c.fix));
    }
}

TEST_CASE("every rule on settings is found, is well, and is without evidence", "[diagnose]") {
    std::map<std::string, std::set<Answer>> answers;
    for (const auto& c : cases()) {
        answers[c.rule].insert(c.expected);
    }
    for (const auto part : {diagnose::setting_rules(), diagnose::gradient_rules()}) {
        for (const auto& rule : part) {
            CAPTURE(rule.id);
            CHECK(answers[std::string{rule.id}].size() == 3);
        }
    }
}

TEST_CASE("a setting that costs a tenth of a slow run is its cause, else it is advice",
          "[diagnose]") {
    auto given = a100s(64);
    const auto bubble = [&](double step_ms) {
        return ask("pipeline-bubble", facts_of({megatron(gpt({{"pipeline_model_parallel_size", "8"},
                                                              {"micro_batch_size", "8"}}),
                                                         step_ms)},
                                               given));
    };

    CHECK(bubble(60'000).role == Role::cause);   // 9 % MFU
    CHECK(bubble(14'000).role == Role::advice);  // 39 %
}

TEST_CASE("what the log prints comes before what a configuration says", "[diagnose]") {
    const auto facts =
        facts_of({megatron({{"tensor_model_parallel_size", "8"}}),
                  "model:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 4\n"});
    const diagnose::RunSetup setup{facts};

    CHECK(setup.value(training::Topic::tensor_parallel) == 8.0);
    CHECK(setup.at(training::Topic::tensor_parallel)[0].file == 0);
    CHECK(setup.value(training::Topic::pipeline_parallel) == 4.0);
    CHECK(setup.at(training::Topic::pipeline_parallel)[0].file == 1);
    CHECK(setup.at(training::Topic::pipeline_parallel)[0].line == 3);
}

TEST_CASE("no value of a setting makes a figure that is none", "[diagnose]") {
    const auto well = gpt({{"global_batch_size", "256"},
                           {"micro_batch_size", "1"},
                           {"pipeline_model_parallel_size", "2"},
                           {"context_parallel_size", "1"},
                           {"num_layers_per_virtual_pipeline_stage", "4"},
                           {"overlap_grad_reduce", "False"},
                           {"ddp_bucket_size", "1000"},
                           {"use_flash_attn", "False"},
                           {"save_interval", "2"}});
    const auto rules = diagnose::all_rules();
    const auto nccl = railhead::test::read(gpt_case + "/nccl.log");
    for (std::size_t i = 0; i < well.size(); ++i) {
        for (const auto* value : {"0", "-1", "1e300", "1e-300", "1", "999999999999"}) {
            auto values = well;
            values[i].second = value;
            CAPTURE(well[i].first, value);
            const auto facts = facts_of({megatron(values) + saves(40), nccl}, a100s(64));
            const auto diagnosis = diagnose::diagnose(facts, rules);
            for (const auto* finding : diagnosis.with(Answer::found)) {
                CAPTURE(finding->rule->id, finding->what, finding->expected);
                CHECK(
                    (finding->step_share.value_or(0) >= 0 && finding->step_share.value_or(0) < 1));
                for (const auto* none : {"nan", "inf ", "-inf", "MFU -"}) {
                    CHECK(finding->expected.find(none) == std::string::npos);
                    CHECK(finding->what.find(none) == std::string::npos);
                }
            }
            if (const auto fall = diagnose::make_waterfall(facts, diagnosis)) {
                double sum = fall->mfu;
                for (const auto& bar : fall->bars) {
                    CHECK(bar.share >= 0);
                    sum += bar.share;
                }
                CHECK_THAT(sum, WithinAbs(1, 1e-9));
            }
        }
    }
}

TEST_CASE("a batch script tells how many GPUs of which type", "[diagnose]") {
    const auto script = [](std::string_view options) {
        auto given = diagnose::Given{};
        given.catalogue = &training::built_in_catalogue();
        return facts_of({fmt::format("#!/bin/bash\n{}\nsrun train\n", options)}, given);
    };
    struct Row {
        const char* options;
        double gpus;
        const char* accelerator;
    };
    for (const auto& row :
         {Row{"#SBATCH -N 16 --gres=gpu:a100:8", 128, "a100-sxm-80gb"},
          Row{"#SBATCH -N 4 --gpus-per-node=h100:4", 16, "h100-sxm"},
          Row{"#SBATCH --gpus=24", 24, ""}, Row{"#SBATCH -n 12 --gpus-per-task=1", 12, ""},
          Row{"#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-task=1", 8, ""}}) {
        CAPTURE(row.options);
        const auto facts = script(row.options);
        CHECK(diagnose::RunSetup{facts}.gpus() == row.gpus);
        CHECK((facts.hardware.accelerator == nullptr ? "" : facts.hardware.accelerator->name) ==
              row.accelerator);
    }
}

// 22 % on 128 A100.  A GPT of 60 layers of 10240 (76B), sequences of 2048, 48 a step; 8 x 4 x 4.
//
// FLOPs a token, as "matrices" counts: 12 L h^2 (2 + s/h) + 12 L h f + 6 V h = 1.66094e11 +
// 3.01990e11 + 3.14573e9 = 4.71230e11.  A step of 5.2725 s: 98,304 x 4.71230e11 / (128 x 312e12 x
// 5.2725) = 22.00 %.
// No matmul reaches the peak: 22.00 (312 / 271.2 - 1) = 3.31 %.
// Recomputed: a third of the layers' 4.68084e11 of 4.71230e11 is 33.11 %: 22.00 x 0.3311 x 312 /
// 271.2 = 8.38 %.  Selective recomputation gives back 22.00 (1/3 - 0.04) = 6.45 %.
// Bubble: 12 micro-batches, 3 / 15 = 20 %; 15 layers a stage make 3 chunks: 3 / 39 = 7.69 % stays.
// Gradients: compute is 22.00 / 65.3 = 33.69 % of the step, at 203.74 TFLOP/s.  A node sends 0.75
// of 6 bytes a parameter, 24,576 tokens a replica: 0.75 x 8 x 203.74e12 / 24,576 = 49.741e9 bytes/s
// in a compute time.  8 HDR carry 188 GB/s: 0.26458 of compute is 8.91 % of the step; 7 carry
// 164.5: 10.19 %; without GPUDirect 164.5 x 33.3 / 93 = 58.90: 28.45 %. Overlap would hide two
// thirds of compute: all of 8.91 %.
TEST_CASE("22 % on 128 A100: what costs how much, and the MFU after each fix",
          "[diagnose][report]") {
    check_case(gpt_case, "train.sbatch", 22.00,
               {{"gdr-off", "cause", 18.26, 26.9},          // 22.00 / (1 - 0.1826)
                {"pipeline-bubble", "cause", 12.31, 25.1},  // 22.00 / (1 - 0.1231)
                {"rail-mismatch", "cause", 1.27, 22.3},     // 22.00 / (1 - 0.0127)
                {"low-mfu", "follows", 0, 0},
                {"gradients-not-overlapped", "advice", 8.91, 24.2},  // 22.00 / (1 - 0.0891)
                {"full-recompute", "advice", 6.45, 23.5}},           // 22.00 / (1 - 0.0645)
               {{"no matmul reaches the peak", 3.31},
                {"activations computed again", 8.38},
                {"connections without GPUDirect RDMA", 18.26},
                {"pipeline stages that wait for their neighbours", 20.00},
                {"nodes with different NICs", 1.27},
                {"gradients that are sent after the backward pass", 8.91},
                {"unexplained", 17.86}});  // 78.00 less all of these
    check_text(gpt_case, "train.sbatch", "a100-128.txt");
}

// 28 % from three files, and nothing that is typed: the log names the GPU, the configuration the
// model, NCCL's ranks say how many.
//
// Llama 3 8B: FLOPs a token 12 L h^2 (1.25 + s/h) + 18 L h f + 6 V h = 2.09380e10 + 3.38229e10 +
// 3.15202e9 = 5.79129e10; 4,784 tokens/s of 989.4 TFLOP/s: 28.00 %.
// No matmul reaches the peak: 28.00 (989.4 / 794.5 - 1) = 6.87 %.  Recomputed: a third
// of 5.47609e10 is 31.52 %: 28.00 x 0.3152 x 989.4 / 794.5 = 10.99 %. Gradients: compute is 28.00
// / 62.5 = 44.80 % of the step, at 618.4 TFLOP/s; 4 nodes send 0.75 of 6 bytes; 128 x 8192 / 4 =
// 262,144 tokens a node: 0.75 x 8 x 618.4e12 / 262,144 = 14.154e9 bytes/s in a compute time.  At
// TCP's 10 GB/s 1.4154 - 2/3 = 0.7487 of compute is 33.54 % of the step; 8 NDR (376 GB/s) hide all
// of it.
TEST_CASE("28 % from a NCCL log, a training log and a configuration", "[diagnose][report]") {
    check_case(llama_case, "train.toml", 28.00,
               {{"rdma-disabled", "cause", 33.54, 42.1},  // 28.00 / (1 - 0.3354)
                {"socket-fallback", "follows", 0, 0},
                {"low-mfu", "follows", 0, 0},
                {"full-recompute", "advice", 8.21, 30.5}},  // 28.00 / (1 - 28.00 (1/3 - 0.04))
               {{"no matmul reaches the peak", 6.87},
                {"activations computed again", 10.99},
                {"variables that turn RDMA off", 33.54},
                {"unexplained", 20.59}});
    check_text(llama_case, "train.toml", "h100-32.txt");
}

TEST_CASE("without a fault a case has no bar of it", "[diagnose]") {
    auto text = railhead::test::read(gpt_case + "/nccl.log");
    for (std::size_t at = 0; (at = text.find("via NET/IB/", at)) != std::string::npos; ++at) {
        text.insert(at + 12, "/GDRDMA");
    }
    const TempDir folder;
    auto words = files_of(gpt_case, "train.sbatch");
    words[0] = folder.write("nccl.log", text);
    words.emplace_back("--json");

    const auto document = json::parse(run(words).out);

    CHECK(document["findings"][0]["id"] == "pipeline-bubble");
    for (const auto& finding : document["findings"]) {
        CHECK(finding["id"] != "gdr-off");
    }
}
