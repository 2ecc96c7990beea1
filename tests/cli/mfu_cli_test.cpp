// railhead mfu, whole command lines.
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "run_cli.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/published.hpp"
#include "support/reviews.hpp"
#include "support/temp_dir.hpp"
#include "support/training_logs.hpp"

using namespace railhead::test;

namespace {

Output mfu(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "mfu");
    return railhead_run(arguments);
}

/// A steady Megatron log whose arguments say all but the GPU: a GPT of 12 layers of 1024.
std::string steady_log() {
    std::string text =
        "using world size: 8, data-parallel size: 8, tensor-model-parallel size: 1\n"
        "  num_layers ...................................... 12\n"
        "  hidden_size ..................................... 1024\n"
        "  num_attention_heads ............................. 16\n"
        "  padded_vocab_size ............................... 51200\n"
        "  seq_length ...................................... 2048\n"
        "  bf16 ............................................ True\n"
        "  recompute_granularity ........................... full\n";
    for (int i = 1; i <= 30; ++i) {
        text += megatron_line(i, 1000 + i % 3);
    }
    return text;
}

}  // namespace

TEST_CASE("mfu is PaLM's for what PaLM printed", "[cli][mfu]") {
    // PaLM 540B, arXiv:2204.02311, appendix B: 238.3k tokens/s on 6144 TPU v4 of 275 TFLOP/s are
    // 46.2 %, 57.8 % with what is recomputed.  Its parameters are said: the model has no catalogue
    // row; its peak is that of a catalogue row made here.
    const TempDir folder;
    const auto catalog = folder.write("tpu.toml", R"([[accelerator]]
name = "tpu-v4"
dense_tflops = { bf16 = 275 }
memory_gb = 32
memory_bandwidth_gb_s = 1200
source = "PaLM, arXiv:2204.02311"
)");
    const auto output =
        mfu({"--catalog",      catalog,   "--accelerator", "tpu-v4",  "--gpus",     "6144",
             "--tokens-per-s", "238.3e3", "--params",      "540.35B", "--layers",   "118",
             "--hidden",       "18432",   "--heads",       "48",      "--head",     "256",
             "--ffn",          "73728",   "--vocabulary",  "256000",  "--sequence", "2048",
             "--convention",   "palm"});
    CHECK(output.err.empty());
    CHECK(output.status == 0);
    CHECK_THAT(output.out, ContainsSubstring("46.2 %, by convention \"palm\""));
}

TEST_CASE("mfu takes from the log what was not typed, and says so", "[cli][mfu]") {
    const TempDir folder;
    const auto file = folder.write("train.log", steady_log());

    const auto output = mfu({file, "--accelerator", "h100"});

    CHECK(output.err.empty());
    CHECK(output.status == 0);
    // 72 B L s h^2 (1 + s/6h + V/12hL) of Korthikanti, in its tokens: 72 x 12 x 1024^2 x (1 +
    // 2048/6144 + 51200/147456) = 1.5226e9 a token; 256 x 2048 tokens in 1.001 s on 8 GPUs are
    // 65,470 tokens/s a GPU: 99.7 TFLOP/s, 10.1 % of 989.4.
    CHECK_THAT(output.out, ContainsSubstring("MFU        10.1 %"));
    CHECK_THAT(output.out, ContainsSubstring("with full recomputation"));
    for (const auto* words :
         {"line 1 of the log", "12 layers of 1024, 16 heads", "line 6 of the log, printed",
          "median of 30 lines of the log", "Megatron's default"}) {
        CHECK_THAT(unwrapped(output.out), ContainsSubstring(words));
    }
    for (const auto line : railhead::split(output.out, '\n')) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("what is typed comes before what the log says", "[cli][mfu]") {
    const TempDir folder;
    const auto file = folder.write("train.log", steady_log());

    const auto output = mfu({file, "--accelerator", "h100", "--gpus", "16", "--recompute", "none"});

    CHECK_THAT(output.out, ContainsSubstring("MFU        5.0 %"));
    CHECK_THAT(output.out, ContainsSubstring("nothing is recomputed"));
}

TEST_CASE("mfu without enough for an answer says what is missing", "[cli][mfu]") {
    const auto none = mfu({});
    CHECK(none.status == 2);
    for (const auto* words : {"--model", "--accelerator", "--tokens-per-s", "--gpus"}) {
        CHECK_THAT(none.err, ContainsSubstring(words));
    }

    const TempDir folder;
    const auto log =
        mfu({folder.write("train.log", megatron_line(1, 1000) + megatron_line(2, 1000))});
    CHECK(log.status == 0);
    CHECK_THAT(log.out, ContainsSubstring("not known"));
    CHECK_THAT(log.out, ContainsSubstring("needs the GPU: --accelerator NAME"));
    CHECK_THAT(log.out, ContainsSubstring("median 1 s"));
}

TEST_CASE("wrong words of mfu are refused with a hint", "[cli][mfu]") {
    struct Case {
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {{"--precision", "bf61"}, "did you mean \"bf16\"?"},
        {{"--recompute", "selektive"}, "did you mean \"selective\"?"},
        {{"--convention", "plam"}, "did you mean \"palm\"?"},
        {{"--accelerator", "h10"}, "did you mean"},
        {{"--convention", "palm", "--attention", "causal"}, "does not count causal attention"},
        {{"--step-time", "3.6"}, "--step-time"},
        {{"--svg", "x.svg"}, "--svg draws a log"},
        {{"--run", "2"}, "--run is a start in a log"},
        {{"--run", "0"}, "--run: Value 0 not in range"},
        {{"--batch", "1.5"}, "--batch 1.5: a whole number"},
        {{"/nowhere/train.log"}, "cannot open \"/nowhere/train.log\""},
        {{"/"}, "cannot read \"/\""},
    }));
    CAPTURE(c.expected);
    auto arguments = c.arguments;
    if (!arguments[0].starts_with("/")) {
        arguments.insert(arguments.end(),
                         {"--tokens-per-s", "1e6", "--gpus", "8", "--model", "llama-3-8b"});
    }
    if (arguments[0] == "--step-time") {
        arguments = {"--step-time", "3.6"};
    }
    const auto output = mfu(arguments);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, ContainsSubstring(c.expected));
}

TEST_CASE("a step of no time is refused by its option", "[cli][mfu]") {
    const auto output = mfu({"--model", "llama-3-8b", "--accelerator", "h100", "--gpus", "8",
                             "--batch", "8", "--step-time", "0s"});
    CHECK(output.status == 2);
    CHECK_THAT(output.err, ContainsSubstring("--step-time 0s: more than 0 is needed"));
}

TEST_CASE("a file that is no training log is refused by name", "[cli][mfu]") {
    const TempDir folder;
    const auto output = mfu({folder.write("notes.txt", "nothing\n")});
    CHECK(output.status == 2);
    CHECK_THAT(output.err, ContainsSubstring("no line about a training step"));
}

TEST_CASE("a value that cannot be is told, never refused below the peak", "[cli][mfu]") {
    struct Case {
        std::string tokens_per_s;
        std::string words;
        int status;
    };
    // Llama-3 8B at 8192, by matrices: 57.9 GFLOP a token; on one H100 of 989.4 TFLOP/s.
    const auto c = GENERATE(values<Case>({
        {"7000", "Published", 0},
        {"11500", "Question", 0},    // 67 %: above all published
        {"14500", "Warning", 1},     // 85 %: above the best matmul
        {"18000", "Impossible", 1},  // 105 %: above the peak
    }));
    const auto output = mfu({"--tokens-per-s", c.tokens_per_s, "--gpus", "1", "--accelerator",
                             "h100", "--model", "llama-3-8b", "--recompute", "none"});
    CAPTURE(output.out, output.err);
    CHECK(output.status == c.status);
    CHECK_THAT(output.out, ContainsSubstring(c.words));
    if (c.words == "Published") {
        CHECK_THAT(output.out, !ContainsSubstring("Question"));
    }
}

TEST_CASE("quartiles of a rate are told upwards, and a long path by its last folders",
          "[cli][mfu]") {
    const TempDir folder;
    std::string text;
    for (int i = 1; i <= 40; ++i) {
        text += fmt::format(
            "step: {}  loss: 2.5  memory: 40.00GiB(50.00%)  tps: {}  tflops: 300  mfu: 30.0%\n", i,
            i % 2 == 0 ? 7'000 : 8'000);
    }
    const std::string long_name(60, 'n');
    std::filesystem::create_directories(folder.path(long_name + "/of-a-run"));
    const auto file = folder.write(long_name + "/of-a-run/train.log", text);
    const auto output = mfu({file});
    CHECK_THAT(output.out, ContainsSubstring("quartiles 7 k tokens/s a GPU and 8 k\n"));
    CHECK_THAT(output.out, ContainsSubstring(".../of-a-run/train.log: "));
}

TEST_CASE("a run that got slower leaves status 1, JSON and a picture", "[cli][mfu]") {
    const TempDir folder;
    std::string text;
    for (int i = 1; i <= 60; ++i) {
        text += megatron_line(i, (i <= 30 ? 1000 : 1080) + i % 4);
    }
    const auto file = folder.write("train.log", text);

    const auto words = mfu({file});
    CHECK(words.status == 1);
    CHECK_THAT(words.out, ContainsSubstring("Drop   after iteration 30 (line 31)"));

    const auto json = mfu({file, "--json", "--svg", folder.path("steps.svg")});
    CHECK(json.status == 1);
    CHECK_THAT(json.out, ContainsSubstring("\"schema\": \"railhead.mfu/1\""));
    CHECK_THAT(json.out, ContainsSubstring("\"settled\": 31"));
    CHECK_THAT(railhead::read_file(folder.path("steps.svg")).value(),
               ContainsSubstring("class=\"drop\""));
}

TEST_CASE("a log that gzip compressed is read, and one that is cut as far as it goes",
          "[cli][mfu]") {
    const TempDir folder;
    const auto path = folder.path("train.log.gz");
    auto* file = ::gzopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    std::string text;
    for (int i = 1; i <= 2000; ++i) {
        text += megatron_line(i, 1000);
    }
    ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose(file);

    const auto whole = mfu({path});
    CHECK(whole.err.empty());
    CHECK_THAT(unwrapped(whole.out), ContainsSubstring("2000 lines about steps"));

    const auto bytes = railhead::read_file(path).value();
    const auto cut = mfu({folder.write("cut.gz", bytes.substr(0, bytes.size() / 2))});
    CHECK_THAT(cut.err, ContainsSubstring("damaged or cut"));
    CHECK_THAT(unwrapped(cut.out), ContainsSubstring("lines about steps"));
}

TEST_CASE("one run of several can be asked for", "[cli][mfu]") {
    const TempDir folder;
    std::string text;
    for (const int ms : {1000, 2000}) {
        for (int i = 1; i <= 5; ++i) {
            text += megatron_line(i, ms);
        }
    }
    const auto file = folder.write("train.log", text);

    CHECK_THAT(mfu({file}).out, ContainsSubstring("median 2 s"));
    CHECK_THAT(mfu({file, "--run", "1"}).out, ContainsSubstring("median 1 s"));
    const auto none = mfu({file, "--run", "3"});
    CHECK(none.status == 2);
    CHECK_THAT(none.err, ContainsSubstring("runs 1 to 2"));
}

TEST_CASE("a log is followed until a signal, and then told", "[cli][mfu]") {
    const TempDir folder;
    const auto file = folder.write("train.log", megatron_line(1, 1000));
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &before);  // one that comes before or after is not the end of us
    std::atomic<bool> over = false;
    std::thread writer{[&] {
        for (int i = 2; i <= 6; ++i) {
            std::ofstream{file, std::ios::app} << megatron_line(i, 1000);
            std::this_thread::sleep_for(std::chrono::milliseconds{100});
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{600});
        while (!over) {
            ::kill(::getpid(), SIGINT);
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
        }
    }};

    const auto output = mfu({"--follow", file});
    over = true;
    writer.join();
    ::sigaction(SIGINT, &before, nullptr);

    CHECK(output.status == 0);
    CHECK_THAT(unwrapped(output.out), ContainsSubstring("6 lines about steps"));
}

TEST_CASE("BLOOM's MFU and HFU are those that its log and its shape make", "[cli][mfu][corpus]") {
    RAILHEAD_NEED_CORPUS();
    RAILHEAD_NEED_PUBLISHED();
    const auto row = read_published("bloom_iteration").at(0);
    const auto output =
        mfu({"--step-time", row.text("iter_s") + "s", "--batch", row.text("batch"), "--gpus",
             row.text("gpus"), "--model", "bloom-176b", "--sequence", row.text("seq"),
             "--accelerator", "a100-sxm-80gb", "--recompute", "full", "--convention", "sc21"});
    CHECK(output.status == 0);
    CHECK(row.number("mfu_pct_model_flops") == 36.0);
    CHECK_THAT(output.out, ContainsSubstring("MFU        36.0 %"));
    CHECK_THAT(output.out, ContainsSubstring("HFU        47.8 %"));  // 149.02 of 312

    const auto log = mfu({corpus() + "/train-log/bloom-176b-slow-gpu-drop.log", "--model",
                          "bloom-176b", "--gpus", "384", "--accelerator", "a100-sxm-80gb",
                          "--recompute", "full", "--convention", "sc21"});
    CHECK(log.status == 1);
    CHECK_THAT(unwrapped(log.out),
               ContainsSubstring("Drop after iteration 42781 (line 7): 105.2 s, MFU 36.0 %; from "
                                 "42784 on 111.1 s, MFU 34.1 %; +5.7 % time, 149.1 to 141.1"));
}
