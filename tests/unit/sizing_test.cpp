#include "plan/sizing.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "checkpoint/interval.hpp"
#include "checkpoint/mtbf.hpp"
#include "checkpoint/timing.hpp"
#include "plan/published_runs.hpp"
#include "plan/spares.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/published.hpp"
#include "support/shapes.hpp"
#include "training/activations.hpp"
#include "training/catalogue.hpp"
#include "training/memory.hpp"

namespace checkpoint = railhead::checkpoint;
namespace plan = railhead::plan;
namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using plan::SizeQuestion;
using railhead::test::read_published;
using railhead::test::run;

namespace {

constexpr double gb = 1e9;
constexpr double published_parameters = 65.2e9;

plan::Machine machine(const char* name, const char* nic = nullptr) {
    const auto& catalogue = training::built_in_catalogue();
    plan::MachineQuestion question;
    question.accelerator = training::find_accelerator(catalogue, name).value();
    question.nic = nic != nullptr ? training::find_nic(catalogue, nic).value() : nullptr;
    return plan::make_machine(question, catalogue).value();
}

/// LLaMA 65B in 14 days, without failures unless said.
SizeQuestion question(const char* on = "h100-sxm", const char* convention = "6nd") {
    SizeQuestion out;
    out.model = *training::find_model(training::built_in_catalogue(), "llama-65b").value();
    out.machine = machine(on);
    out.convention = training::find_convention(convention).value();
    out.days = 14;
    out.mfu = 0.4;
    out.goodput = 1;
    return out;
}

plan::SizeAnswer answer(const SizeQuestion& asked) {
    return plan::size_cluster(asked).value();
}

std::string refusal(const SizeQuestion& asked) {
    const auto answer = plan::size_cluster(asked);
    return answer ? "no error" : answer.error().message;
}

/// The example's layout: TP 8, DP 144.
const training::Recipe& fp32_gradients() {
    return *training::find_recipe("adam-mixed-fp32-grads");
}

training::GradientTraffic example_traffic(const training::Recipe& recipe,
                                          training::Sharding sharding) {
    return training::gradient_traffic(published_parameters / 8, recipe, sharding, 144);
}

double daly_min(double rate, double cost_s) {
    const auto mtbf_s = checkpoint::gang_mtbf_s(rate, 144).value();
    return checkpoint::daly_s(checkpoint::Timing::make({mtbf_s, cost_s, 300, 0}).value()) / 60;
}

double mtbf_h(double rate) {
    return checkpoint::gang_mtbf_s(rate, 144).value() / 3600;
}

double gpus(const char* convention, double goodput, bool raw) {
    auto asked = question("h100-sxm", convention);
    asked.goodput = goodput;
    const auto found = answer(asked);
    return raw ? found.raw_gpus : static_cast<double>(found.rounded.gpus);
}

double a100(bool raw) {
    auto asked = question("a100-sxm-80gb");
    asked.mfu.reset();
    asked.tokens_per_s_per_gpu = 380;
    const auto found = answer(asked);
    return raw ? found.raw_gpus : static_cast<double>(found.rounded.gpus);
}

double send_s(const char* nic) {
    const auto on = machine("a100-sxm-80gb", nic);
    return plan::gradients_of(example_traffic(fp32_gradients(), training::Sharding::optimizer), 144,
                              1, 3.6, 0.9 * on.nic_share())
        .send_s;
}

double activations() {
    const auto shape = railhead::test::llama_65b();
    training::Layout layout;
    layout.tp = 8;
    return 80 * training::korthikanti_activations(shape, layout).kept / gb;
}

training::State state() {
    return training::state_of(published_parameters / 8, fp32_gradients(),
                              training::Sharding::optimizer, 144);
}

void check_width(const std::string& text) {
    for (const auto line : railhead::split(text, '\n')) {
        CAPTURE(line);
        CHECK(railhead::report::columns(line) <= 80);
    }
}

}  // namespace

TEST_CASE("LLaMA 65B in two weeks: every row of the worked example", "[sizing][published]") {
    RAILHEAD_NEED_PUBLISHED();
    const auto example = answer(question());
    const auto flops = [](const char* convention) {
        return [convention] {
            const auto found = answer(question("h100-sxm", convention));
            return found.flops_per_token * *found.question.tokens;
        };
    };
    using training::Sharding;
    const auto reduced = [](Sharding sharding, const char* recipe, auto part) {
        return part(example_traffic(*training::find_recipe(recipe), sharding)) / gb;
    };
    const std::map<std::string, std::function<double()>> rows{
        {"flops_6ND", flops("6nd")},
        {"flops_PaLM", flops("palm")},
        {"h100_gpus_raw_6ND", [] { return gpus("6nd", 1, true); }},
        {"h100_gpus_round8_6ND", [] { return gpus("6nd", 1, false); }},
        {"h100_gpus_goodput0.9_6ND", [] { return gpus("6nd", 0.9, false); }},
        {"h100_gpus_raw_PaLM", [] { return gpus("palm", 1, true); }},
        {"h100_gpus_round8_PaLM", [] { return gpus("palm", 1, false); }},
        {"h100_gpus_goodput0.9_PaLM", [] { return gpus("palm", 0.9, false); }},
        {"a100_gpus_at_380tok_s", [] { return a100(true); }},
        {"a100_gpus_round8", [] { return a100(false); }},
        {"step_time_1152_h100", [&] { return example.rounded.step_s; }},
        {"steps_total", [&] { return example.steps; }},
        {"days_check", [&] { return example.rounded.days; }},
        {"tokens_s_gpu", [&] { return example.rounded.tokens_per_s / 1152; }},
        {"weights_bf16_tp8", [] { return state().weights / gb; }},
        {"grads_fp32_tp8", [] { return state().gradients / gb; }},
        {"optimizer_zero1", [] { return state().optimizer / gb; }},
        {"activations_tp_sp_selective_mb1", [] { return activations(); }},
        {"hbm_total_before_overhead", [] { return state().total() / gb + activations(); }},
        {"unsharded_16B_per_param",
         [] { return published_parameters * training::usual_recipe().in_memory() / gb; }},
        {"dp_reduce_scatter_fp32_per_gpu",
         [&] {
             return reduced(Sharding::optimizer, "adam-mixed-fp32-grads",
                            [](const auto& sent) { return sent.reduce_scatter; });
         }},
        {"dp_all_gather_bf16_per_gpu",
         [&] {
             return reduced(Sharding::optimizer, "adam-mixed-fp32-grads",
                            [](const auto& sent) { return sent.all_gather; });
         }},
        {"dp_all_reduce_bf16_per_gpu",
         [&] {
             return reduced(Sharding::none, "adam-mixed",
                            [](const auto& sent) { return sent.total(); });
         }},
        {"comm_time_HDR200_0.9eff", [] { return send_s("hdr"); }},
        {"comm_time_NDR400_0.9eff", [] { return send_s("ndr"); }},
        {"min_bw_full_overlap_backward",
         [&] {
             return plan::gradients_of(example_traffic(fp32_gradients(), Sharding::optimizer), 144,
                                       1, example.rounded.step_s, 50 * gb)
                        .needed_bytes_per_s /
                    gb;
         }},
        {"mtbf_RSC-1", [] { return mtbf_h(6.50); }},
        {"mtbf_RSC-2", [] { return mtbf_h(2.34); }},
        {"mtbf_Llama3", [] { return mtbf_h(3.789); }},
        {"ckpt_interval_RSC-1_delta30s", [] { return daly_min(6.50, 30); }},
        {"ckpt_interval_RSC-1_delta160s", [] { return daly_min(6.50, 160); }},
        {"ckpt_interval_RSC-2_delta30s", [] { return daly_min(2.34, 30); }},
        {"ckpt_interval_RSC-2_delta160s", [] { return daly_min(2.34, 160); }},
        {"ckpt_interval_Llama3_delta30s", [] { return daly_min(3.789, 30); }},
        {"ckpt_interval_Llama3_delta160s", [] { return daly_min(3.789, 160); }},
    };
    std::size_t compared = 0;
    for (const auto& row : read_published("sizing_example_llama65b")) {
        const auto& name = row.text("quantity");
        CAPTURE(name);
        const auto found = rows.find(name);
        REQUIRE(found != rows.end());
        CHECK_THAT(found->second(), WithinRel(row.number("value"), 3e-4));
        ++compared;
    }
    CHECK(compared == 35);
}

TEST_CASE("the counts that the example rounds to are met to the GPU", "[sizing]") {
    CHECK(gpus("6nd", 1, false) == 1152);
    CHECK(gpus("palm", 1, false) == 1192);
    CHECK(gpus("6nd", 0.9, false) == 1272);
    CHECK(gpus("palm", 0.9, false) == 1328);
    CHECK(a100(false) == 3048);
}

TEST_CASE("SwiGLU keeps less than Korthikanti's formula says", "[sizing]") {
    const auto shape = railhead::test::llama_65b();
    training::Layout layout;
    layout.tp = 8;
    CHECK_THAT(activations(), WithinAbs(5.70, 0.005));
    // By hand, a token and layer: norms 8 h / t, Q, K, V and output 8 h / t, sums 4 n / t, and
    // three times the MLP's width / t, of 2 bytes.
    const double token = (8.0 * 8192 + 8.0 * 8192 + 4.0 * 64 + 6.0 * 22016) / 8;
    CHECK_THAT(80 * training::layer_activations(shape, layout, 0).kept,
               WithinRel(80 * 2048 * token, 1e-9));
    CHECK_THAT(80 * 2048 * token / gb, WithinAbs(5.39, 0.005));
}

TEST_CASE("copies in a node share its NICs, and shards are sent for each microbatch", "[sizing]") {
    const auto on = machine("h100-sxm");
    const auto shape = railhead::test::llama_65b();
    training::Layout layout;
    layout.tp = 8;
    layout.dp = 128;
    layout.microbatches = 16;
    CHECK(plan::members_of(on, layout) == 1);
    const auto once = plan::traffic_of(shape, layout, fp32_gradients());
    layout.sharding = training::Sharding::gradients;
    const auto each = plan::traffic_of(shape, layout, fp32_gradients());
    CHECK_THAT(each.reduce_scatter, WithinRel(16 * once.reduce_scatter, 1e-9));
    CHECK_THAT(each.all_gather, WithinRel(once.all_gather, 1e-9));
    layout.tp = 2;
    CHECK(plan::members_of(on, layout) == 4);
    const auto alone = plan::gradients_of(once, 128, 1, 3, 50 * gb);
    const auto shared = plan::gradients_of(once, 128, 4, 3, 50 * gb);
    CHECK_THAT(shared.send_s * 4, WithinRel(alone.send_s, 1e-9));
    CHECK_THAT(shared.needed_bytes_per_s * 4, WithinRel(alone.needed_bytes_per_s, 1e-9));
}

TEST_CASE("goodput is a fixed point: more GPUs, more failures", "[sizing]") {
    auto asked = question();
    asked.goodput.reset();
    asked.per_1000_node_days = 6.5;
    asked.checkpoint_cost_s = 40;
    asked.restart_s = 300;
    const auto found = answer(asked);
    const auto goodput_of = [](std::uint64_t nodes) {
        const auto mtbf_s = checkpoint::gang_mtbf_s(6.5, nodes).value();
        const auto timing = checkpoint::Timing::make({mtbf_s, 40, 300, 0}).value();
        return checkpoint::shares_of(timing, checkpoint::optimum_s(timing)).useful;
    };
    const auto nodes = found.rounded.nodes;
    CHECK(nodes > 144);
    const auto enough = [&](std::uint64_t n) {
        return static_cast<double>(n * 8) * goodput_of(n) >= found.raw_gpus * (1 - 1e-6);
    };
    CHECK(enough(nodes));
    CHECK_FALSE(enough(nodes - 1));
    CHECK(found.rounded.days <= 14);

    asked.per_1000_node_days = 1e5;
    CHECK_THAT(refusal(asked), ContainsSubstring("no number of GPUs does it in 14 d"));
}

TEST_CASE("the count with a layout has one that fits and is fast enough", "[sizing]") {
    auto asked = question("h100-sxm", "matrices");
    asked.mfu = 0.543;
    const auto found = answer(asked);
    REQUIRE(found.with_layout);
    REQUIRE_FALSE(found.layouts.ranked.empty());
    const auto& best = found.layouts.ranked.front();
    CHECK(found.with_layout->gpus >= found.rounded.gpus);
    CHECK(best.layout.gpus() == found.with_layout->gpus);
    CHECK(2048 % (best.layout.groups() * best.layout.microbatch) == 0);
    CHECK(best.fit == training::Fit::fits);
    CHECK(best.time.total() <= 1.1 * found.with_layout->step_s);
    // 880 GPUs have a factor of 11, which no power of two of a batch does: it makes stages.
    CHECK(found.rounded.gpus == 880);
    CHECK(found.with_layout->gpus > found.rounded.gpus);
    REQUIRE(found.other_batch);
    CHECK(found.other_batch->sequences % found.other_batch->layout.layout.groups() == 0);
    CHECK(found.other_batch->layout.layout.gpus() == found.rounded.gpus);
}

TEST_CASE("GPUs in place of days give the days", "[sizing]") {
    auto asked = question("a100-sxm-80gb");
    asked.days.reset();
    asked.gpus = 2048;
    asked.mfu.reset();
    asked.tokens_per_s_per_gpu = 380;
    // LLaMA, arXiv:2302.13971, section 2.4: about 21 days; 20.82 worked out.
    CHECK_THAT(answer(asked).rounded.days, WithinAbs(20.82, 0.005));
    asked.days = 14;
    CHECK_THAT(refusal(asked), ContainsSubstring("give one of them"));
}

TEST_CASE("energy is power, time and PUE", "[sizing]") {
    // LLaMA, arXiv:2302.13971, table 15: 1,022,362 GPU-hours at 400 W and a PUE of 1.1: 449 MWh.
    auto asked = question("a100-sxm-80gb");
    asked.days.reset();
    asked.gpus = 2048;
    asked.mfu.reset();
    asked.tokens_per_s_per_gpu = 1.4e12 / (1022362.0 * 3600);
    asked.machine.node_power_w = 8 * 400;
    const auto found = answer(asked);
    CHECK_THAT(found.power.energy_wh / 1e6, WithinRel(449.8, 1e-3));
}

TEST_CASE("spares: the quantile of a binomial", "[sizing]") {
    CHECK(plan::spare_nodes(100, 0, 0.99) == 0);
    // By hand: one node that is out half of the time needs k of k + 1 to be out with at most 1 %:
    // 1 - 2^-(k + 1) >= 0.99 from k = 6 on.
    CHECK(plan::spare_nodes(1, 0.5, 0.99) == 6);
    // ByteRobust: 4 for 1,024 at P99, for which a machine has to be out 0.12 % of the time:
    // Poisson's chance of at most 4, with a mean of 1.23, is 99.15 %; of at most 3 it is 96.4 %.
    CHECK(plan::spare_nodes(1024, 0.0012, 0.99) == 4);
    CHECK_THAT(plan::unavailability(6.5, 86400), WithinRel(0.0065 / 1.0065, 1e-12));
    // Of 10 million nodes 1 % are out, with a deviation of 0.3 %: quick, and a little above the
    // mean.
    const auto many = plan::spare_nodes(10'000'000, 0.01, 0.99);
    CHECK(many > 101'010);
    CHECK(many < 102'500);
}

TEST_CASE("the published run that is nearest gives the MFU", "[sizing]") {
    const auto& catalogue = training::built_in_catalogue();
    const auto& h100 = *training::find_accelerator(catalogue, "h100-sxm").value();
    CHECK(plan::nearest_run(h100, 405e9, false, 16000).value()->mfu == 0.41);
    CHECK(plan::nearest_run(h100, 8e9, false, 8).value()->model == "Llama 3.1 8B");
    CHECK(plan::nearest_run(h100, 70e9, true, 1024).value()->has_experts);
    const auto& l4 = *training::find_accelerator(catalogue, "l4").value();
    CHECK_FALSE(plan::nearest_run(l4, 8e9, false, 8));
    for (const auto& one : plan::published_runs()) {
        CAPTURE(one.accelerator, one.model, one.gpus);
        CHECK(training::find_accelerator(catalogue, one.accelerator));
        CHECK(training::find_convention(one.convention));
        CHECK_FALSE(one.source.empty());
        CHECK((one.mfu > 0.1 && one.mfu < 0.7));
    }
}

TEST_CASE("an MFU that was counted otherwise gives the run's own speed", "[sizing]") {
    SizeQuestion asked;
    const auto& catalogue = training::built_in_catalogue();
    asked.model = *training::find_model(catalogue, "llama-65b").value();
    asked.machine = machine("a100-sxm-80gb");
    asked.goodput = 1;
    asked.gpus = 2048;
    const auto by_matrices = answer(asked);
    asked.convention = training::find_convention("6nd").value();
    const auto by_parameters = answer(asked);
    CHECK(by_matrices.mfu > by_parameters.mfu);
    CHECK_THAT(by_parameters.rounded.tokens_per_s,
               WithinRel(by_matrices.rounded.tokens_per_s, 2e-3));
    // 380 tokens/s a GPU, as the paper says.
    CHECK_THAT(by_parameters.rounded.tokens_per_s / 2048, WithinRel(380, 3e-3));
}

TEST_CASE("an MFU that nobody published is questioned, and one above matmuls too", "[sizing]") {
    auto asked = question();
    CHECK(answer(asked).notes.empty());
    asked.mfu = 0.7;
    CHECK_THAT(answer(asked).notes.at(0), ContainsSubstring("the highest published"));
    asked.mfu = 0.95;
    CHECK_THAT(answer(asked).notes.at(0), ContainsSubstring("which the best matmul"));
}

TEST_CASE("a question that means nothing is refused", "[sizing]") {
    struct Case {
        const char* name;
        void (*change)(SizeQuestion&);
        const char* message;
    };
    const auto wrong = GENERATE(values<Case>({
        {"no tokens", [](SizeQuestion& q) { q.tokens = 0; }, "tokens of 0"},
        {"no days", [](SizeQuestion& q) { q.days = -1; }, "days of -1"},
        {"an MFU above 1", [](SizeQuestion& q) { q.mfu = 40; },
         "an MFU of 40: it is a share of 1, is 40 % meant? Then give 0.4"},
        {"an MFU above the peak",
         [](SizeQuestion& q) {
             q.mfu.reset();
             q.tokens_per_s_per_gpu = 5000;
         },
         "is above the dense bf16 peak"},
        {"stages without layers", [](SizeQuestion& q) { q.pp = 81; },
         "--pp 81: llama-65b has 80 layers"},
        {"heads that do not divide", [](SizeQuestion& q) { q.tp = 7; },
         "--tp 7: llama-65b has 64 heads, which it does not divide"},
        {"experts of a dense model", [](SizeQuestion& q) { q.ep = 8; },
         "--ep 8: llama-65b has no experts"},
        {"two speeds", [](SizeQuestion& q) { q.tokens_per_s_per_gpu = 380; }, "say the same"},
        {"no batch", [](SizeQuestion& q) { q.batch = 0; }, "a batch of 0"},
        {"no sequence", [](SizeQuestion& q) { q.model.sequence = 0; }, "a sequence of 0"},
        {"no layers", [](SizeQuestion& q) { q.model.layers = 0; }, "layers"},
    }));
    CAPTURE(wrong.name);
    auto asked = question();
    wrong.change(asked);
    CHECK_THAT(refusal(asked), ContainsSubstring(wrong.message));
}

TEST_CASE("railhead size answers within 80 columns, and says what it assumed", "[sizing][cli]") {
    const auto ran = run({"size", "--model", "llama-65b", "--days", "14", "--accelerator",
                          "h100-sxm", "--mfu", "40%", "--goodput", "0.9", "--convention", "6nd"});
    CHECK(ran.err.empty());
    CHECK(ran.status == 0);
    check_width(ran.out);
    CHECK_THAT(ran.out, ContainsSubstring("1272 h100-sxm in 159 nodes"));
    for (const auto* part : {"Memory of a GPU", "Network", "Failures, storage, energy",
                             "Sensitivity", "Not given", "PUE", "LLaMA, arXiv:2302.13971"}) {
        CHECK_THAT(ran.out, ContainsSubstring(part));
    }
    const auto layouts = run({"size", "--layouts", "--model", "llama-3-405b", "--gpus", "16384",
                              "--batch-tokens", "16Mi", "--accelerator", "h100"});
    CHECK(layouts.status == 0);
    check_width(layouts.out);
    CHECK_THAT(layouts.out, ContainsSubstring("bubble"));
    const auto all = run({"size", "--model", "llama-65b"});
    CHECK(all.status == 0);
    check_width(all.out);
    CHECK_THAT(all.out, ContainsSubstring("a100-sxm-80gb"));
    CHECK_THAT(all.out, ContainsSubstring("Not compared"));
}

TEST_CASE("railhead size says where its figures are from", "[sizing][cli]") {
    // TP 2: four copies in each node.
    const auto ran = run({"size", "--model", "llama-65b", "--gpus", "1020", "--accelerator", "h100",
                          "--mfu", "40%", "--tp", "2"});
    CHECK(ran.status == 0);
    check_width(ran.out);
    for (const auto* part :
         {"the 1020 given, rounded up to whole nodes", "4 copies share the NICs of their node",
          "at 96 % of the NICs", "(14 bytes a parameter)", "6.5 in 1000 node-days"}) {
        CHECK_THAT(ran.out, ContainsSubstring(part));
    }
}

TEST_CASE("railhead size writes JSON that holds together", "[sizing][cli]") {
    const auto ran =
        run({"size", "--model", "llama-65b", "--accelerator", "h100", "--json", "--top", "3"});
    const auto document = nlohmann::json::parse(ran.out);
    CHECK(document["schema"] == "railhead.size/1");
    CHECK(document["layouts"]["ranked"].size() == 3);
    for (const auto& one : document["layouts"]["ranked"]) {
        double sum = 0;
        for (const auto& [name, value] : one["time_s"].items()) {
            sum += name == "step" ? 0 : value.get<double>();
        }
        CHECK_THAT(sum, WithinRel(one["time_s"]["step"].get<double>(), 1e-6));
        CHECK(one["fit"] == "fits");
    }
    CHECK(document["rounded"]["gpus"].get<int>() <= document["with_layout"]["gpus"].get<int>());
    CHECK(document["sensitivity"].size() == 3);
    const auto all = nlohmann::json::parse(run({"size", "--model", "llama-65b", "--json"}).out);
    CHECK(all["schema"] == "railhead.sizes/1");
    CHECK(all["sizes"].size() == training::built_in_catalogue().accelerators.size());
}

TEST_CASE("railhead size says what is wrong with its options", "[sizing][cli]") {
    struct Case {
        std::vector<std::string> arguments;
        const char* message;
    };
    const auto wrong = GENERATE(values<Case>({
        {{"size"}, "which model?"},
        {{"size", "--model", "llama-65"}, "llama-65b"},
        {{"size", "--model", "llama-65b", "--accelerator", "h10"}, "did you mean"},
        {{"size", "--model", "llama-65b", "--accelerator", "l4"}, "say what MFU"},
        {{"size", "--model", "llama-65b", "--mfu", "x%"},
         "--mfu \"x%\" is no share: expected one as 40% or 0.4"},
        {{"size", "--model", "llama-65b", "--mfu", "40"},
         "--mfu \"40\" is more than all of it: for 40 per cent give 40%"},
        {{"size", "--model", "llama-65b", "--goodput", "120%"}, "--goodput \"120%\" is no share"},
        {{"size", "--model", "llama-65b", "--goodput", "90"}, "for 90 per cent give 90%"},
        {{"size", "--model", "llama-65b", "--goodput=-0.1"}, "--goodput \"-0.1\" is no share"},
        {{"size", "--model", "llama-65b", "--batch-tokens", "yMi"}, "--batch-tokens"},
        {{"size", "--model", "llama-65b", "--recipe", "x"}, "--recipe \"x\""},
        {{"size", "--model", "llama-65b", "--precision", "x"}, "--precision \"x\""},
        {{"size", "--model", "llama-65b", "--nic", "x"}, "\"x\""},
        {{"size", "--model", "llama-65b", "--accelerator", "h100", "--gpus", "100000000"},
         "they fail too often"},
        {{"size", "--model", "llama-65b", "--batch", "8", "--batch-tokens", "4Mi"},
         "--batch excludes --batch-tokens"},
        {{"size", "--model", "llama-65b", "--cost", "40s", "--storage", "1GB/s"},
         "--cost excludes --storage"},
        {{"size", "--model", "llama-65b", "--layouts"}, "give --accelerator NAME"},
        {{"size", "--model", "llama-65b", "--accelerator", "h100", "--microbatch", "3"},
         "--microbatch: 3 not in {1,2,4,8}"},
        {{"size", "--model", "llama-65b", "--accelerator", "h100", "--rate", "0"},
         "a rate of failures of 0: it has to be more than 0"},
        {{"size", "--model", "llama-65b", "--top", "3"}, "--top says"},
        {{"size", "--model", "llama-65b", "--accelerator", "h100", "--top", "3"}, "--top says"},
    }));
    const auto ran = run(wrong.arguments);
    CAPTURE(wrong.message, ran.out);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, ContainsSubstring(wrong.message));
}
