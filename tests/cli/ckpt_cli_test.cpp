// railhead ckpt, whole command lines.
#include <string>
#include <vector>

#include "base/file.hpp"
#include "run_cli.hpp"
#include "support/catch.hpp"
#include "support/reviews.hpp"
#include "support/temp_dir.hpp"

using namespace railhead::test;

namespace {

Output ckpt(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ckpt");
    return railhead_run(arguments);
}

}  // namespace

TEST_CASE("ckpt answers Daly's example", "[cli][ckpt]") {
    const auto output = ckpt({"--cost", "5m", "--mtbf", "24h"});
    CHECK(output.status == 0);
    CHECK(output.err.empty());
    CHECK_THAT(output.out, ContainsSubstring("Interval    116.7 min (7001 s)"));
    CHECK_THAT(output.out, ContainsSubstring("(Daly)"));
    CHECK_THAT(output.out, ContainsSubstring("restart time  5 min  a guess"));
}

TEST_CASE("each option of ckpt counts", "[cli][ckpt]") {
    struct Case {
        std::string why;
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"nodes", {"--cost", "1m", "--nodes", "128"}, "MTBF 28.8 h (128 nodes"},
        {"GPUs", {"--cost", "1m", "--gpus", "1024"}, "MTBF 28.8 h (128 nodes"},
        {"GPUs of 4 a node",
         {"--cost", "1m", "--gpus", "512", "--gpus-per-node", "4"},
         "(128 nodes"},
        {"a rate", {"--cost", "1m", "--nodes", "128", "--rate", "3.79"}, "3.79 failures in 1000"},
        {"a rate's name",
         {"--cost", "1m", "--nodes", "128", "--rate", "Llama-3"},
         "arXiv:2407.21783"},
        {"counted",
         {"--cost", "1m", "--failures", "419", "--observed", "54d"},
         "MTBF 3.09 h (419 failures in 54 d); 95 % between 2.81 h and 3.41 h"},
        {"counted elsewhere",
         {"--cost", "1m", "--nodes", "1024", "--failures", "419", "--observed", "54d",
          "--observed-nodes", "2048"},
         "MTBF 6.19 h"},
        {"a size",
         {"--bytes", "912GB", "--bandwidth", "5", "--mtbf", "1d"},
         "912 GB, training stands still for 3 min"},
        {"a model", {"--params", "70B", "--bandwidth", "5", "--mtbf", "1d"}, "980 GB"},
        {"a model, spelt out",
         {"--model-params", "70e9", "--bandwidth", "5", "--mtbf", "1d"},
         "980 GB"},
        {"bytes a parameter",
         {"--params", "70B", "--bytes-per-param", "12", "--bandwidth", "5", "--mtbf", "1d"},
         "840 GB"},
        {"a recipe",
         {"--params", "70B", "--bytes-per-param", "adam-fp32", "--bandwidth", "5", "--mtbf", "1d"},
         "840 GB"},
        {"writers",
         {"--bytes", "1TB", "--bandwidth", "10", "--writers", "2", "--mtbf", "1d"},
         "5 GB/s for this job"},
        {"a node's bandwidth",
         {"--bytes", "1TB", "--bandwidth", "100", "--node-bandwidth", "2", "--nodes", "4"},
         "8 GB/s for this job"},
        {"a stall",
         {"--cost", "6s", "--bytes", "1TB", "--bandwidth", "10", "--mtbf", "1d"},
         "stands still for 6 s, the write goes on for 94 s"},
        {"a step", {"--cost", "5m", "--mtbf", "1d", "--step", "10s"}, "(7000 s), 700 steps"},
        {"a time limit",
         {"--cost", "5m", "--mtbf", "1d", "--time-limit", "7-00:00:00"},
         "7 expected in 7 d"},
        {"a restart", {"--cost", "5m", "--mtbf", "1d", "--restart", "1h"}, "by failures"},
        {"an own interval",
         {"--cost", "5m", "--mtbf", "1d", "--interval", "4h"},
         "Yours       4 h (14400 s): "},
        {"memory",
         {"--cost", "5m", "--mtbf", "1d", "--memory-cost", "2s", "--process-share", "0.7"},
         "In memory   to memory every"},
        {"memory's restart",
         {"--cost", "5m", "--mtbf", "1d", "--memory-cost", "2s", "--process-share", "0.7",
          "--memory-restart", "20s"},
         "In memory   to memory every"},
        {"JSON", {"--cost", "5m", "--mtbf", "1d", "--json"}, "\"schema\": \"railhead.ckpt/1\""},
    }));
    CAPTURE(c.why);
    const auto output = ckpt(c.arguments);
    CHECK(output.err.empty());
    CHECK(output.status == 0);
    CHECK_THAT(unwrapped(output.out), ContainsSubstring(unwrapped(c.expected)));
}

TEST_CASE("ckpt simulates the same with the same seed", "[cli][ckpt]") {
    const std::vector<std::string> arguments{"--cost", "5m", "--mtbf", "24h", "--simulate",
                                             "--runs", "50", "--seed", "7"};
    const auto first = ckpt(arguments);
    CHECK(first.status == 0);
    CHECK(first.err.empty());  // no progress where nobody watches
    CHECK_THAT(first.out, ContainsSubstring("Simulated: 50 runs of"));
    CHECK_THAT(first.out, ContainsSubstring("exponential gaps, seed 7"));
    CHECK(first.out == ckpt(arguments).out);

    auto bursty = arguments;
    bursty.insert(bursty.end(), {"--weibull", "0.63"});
    CHECK_THAT(ckpt(bursty).out, ContainsSubstring("Weibull gaps of shape 0.63"));
}

TEST_CASE("an interval that is no interval is priced as one", "[cli][ckpt]") {
    const auto output = ckpt({"--cost", "5m", "--mtbf", "24h", "--interval", "1e-300s",
                              "--simulate", "--runs", "2", "--json"});
    CHECK(output.status == 0);
    CHECK_THAT(output.out, ContainsSubstring("\"share\": 1.0"));
}

TEST_CASE("an interval is at least a step, which may lose more than the user's", "[cli][ckpt]") {
    const auto refused =
        ckpt({"--cost", "5m", "--mtbf", "24h", "--step", "2d", "--interval", "1d"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("shorter than one step of 172800 s"));
    const auto one = ckpt({"--cost", "5m", "--mtbf", "24h", "--step", "90m", "--interval", "2h"});
    CHECK_THAT(one.out, ContainsSubstring("less a day"));
    const auto step = ckpt({"--cost", "5m", "--mtbf", "24h", "--step", "2d"});
    CHECK_THAT(step.out, ContainsSubstring("1 step: one step, though"));
}

TEST_CASE("ckpt draws the curve into a file, beside the text", "[cli][ckpt]") {
    const TempDir folder;
    const auto file = folder.path("curve.svg");
    const auto output = ckpt({"--cost", "5m", "--mtbf", "24h", "--svg", file});
    CHECK(output.status == 0);
    CHECK_THAT(output.out, ContainsSubstring("116.7 min"));
    const auto svg = railhead::read_file(file);
    REQUIRE(svg);
    CHECK(svg->starts_with("<svg "));
    CHECK_THAT(*svg, ContainsSubstring("prefers-color-scheme:dark"));
    CHECK_THAT(*svg, ContainsSubstring("chosen: 116.7 min"));
}

TEST_CASE("what ckpt cannot answer is an error that says what to do", "[cli][ckpt][errors]") {
    struct Case {
        std::string why;
        std::vector<std::string> arguments;
        std::string expected;
    };
    const auto c = GENERATE(values<Case>({
        {"nothing", {}, "give its MTBF, its nodes or GPUs, or failures counted"},
        {"no cost", {"--mtbf", "1d"}, "or its size and the bandwidth of its write"},
        {"no unit",
         {"--cost", "5", "--mtbf", "1d"},
         "--cost \"5\" is no time: expected a number with its unit, as 90s"},
        {"an empty time", {"--cost", "", "--mtbf", "1d"}, "--cost \"\" is no time"},
        {"no time", {"--cost", "5m", "--mtbf", "often"}, "--mtbf \"often\" is no time"},
        {"no size",
         {"--bytes", "912", "--bandwidth", "5", "--mtbf", "1d"},
         "--bytes \"912\" is no size"},
        {"no number",
         {"--params", "7b", "--bandwidth", "5", "--mtbf", "1d"},
         "--params \"7b\" is no number: expected one as 70e9"},
        {"no bandwidth",
         {"--params", "7B", "--bandwidth", "5gb", "--mtbf", "1d"},
         "--bandwidth \"5gb\" is no bandwidth"},
        {"a rate misspelt",
         {"--cost", "1m", "--nodes", "4", "--rate", "lama-3"},
         "did you mean \"llama-3\"?"},
        {"no rate",
         {"--cost", "1m", "--nodes", "4", "--rate", "enormous"},
         "expected one of rsc-1, rsc-2"},
        {"a recipe misspelt",
         {"--params", "7B", "--bytes-per-param", "adam-mixd", "--bandwidth", "5", "--mtbf", "1d"},
         "did you mean \"adam-mixed\"?"},
        {"a control character", {"--cost", "5\x1bm", "--mtbf", "1d"}, "--cost \"5?m\""},
        {"a time that no counter holds",
         {"--cost", "1m", "--failures", "1", "--observed", "1e300d"},
         "a time of observation: 8.64e+304 is not more than 0, or too large"},
        {"more failures than can be",
         {"--cost", "1m", "--nodes", "4", "--rate", "1e300"},
         "an MTBF of"},
        {"a negative cost", {"--cost=-5m", "--mtbf", "1d"}, "a checkpoint cost of -300 s"},
        {"half a node", {"--cost", "1m", "--nodes", "0.5"}, "--nodes"},
        {"fewer than no nodes", {"--cost", "1m", "--nodes=-4"}, "--nodes"},
        {"runs without simulation", {"--cost", "1m", "--mtbf", "1d", "--runs", "5"}, "--simulate"},
        {"no runs", {"--cost", "1m", "--mtbf", "1d", "--simulate", "--runs", "0"}, "--runs"},
        {"too many runs",
         {"--cost", "1m", "--mtbf", "1d", "--simulate", "--runs", "100000000"},
         "ask for fewer runs"},
        {"too bursty",
         {"--cost", "1m", "--mtbf", "1d", "--simulate", "--weibull", "0.01"},
         "a Weibull shape of 0.01"},
        {"a picture nowhere",
         {"--cost", "1m", "--mtbf", "1d", "--svg", "/nowhere/x.svg"},
         "cannot write \"/nowhere/x.svg\""},
    }));
    CAPTURE(c.why);
    const auto output = ckpt(c.arguments);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, ContainsSubstring("railhead: "));
    CHECK_THAT(output.err, ContainsSubstring(c.expected));
}
