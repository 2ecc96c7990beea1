// What to look for when only the MFU of a run is known.
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "diagnose/checklist.hpp"
#include "diagnose/checklist_costs.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "training/catalogue.hpp"

namespace diagnose = railhead::diagnose;
namespace training = railhead::training;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using diagnose::Checklist;
using diagnose::ChecklistQuestion;
using railhead::test::Ran;

namespace {

ChecklistQuestion question(const char* accelerator, std::uint64_t gpus, double mfu = 0.22) {
    const auto& catalogue = training::built_in_catalogue();
    ChecklistQuestion result;
    result.mfu = mfu;
    result.gpus = gpus;
    result.accelerator = *training::find_accelerator(catalogue, accelerator);
    result.nic = diagnose::usual_nic(catalogue, *result.accelerator);
    return result;
}

std::vector<std::string> order_of(const Checklist& list) {
    std::vector<std::string> ids;
    for (const auto& suspect : list.suspects) {
        ids.emplace_back(suspect.id);
    }
    return ids;
}

const diagnose::Suspect& find(const Checklist& list, std::string_view id) {
    const auto found = std::ranges::find(list.suspects, id, &diagnose::Suspect::id);
    REQUIRE(found != list.suspects.end());
    return *found;
}

bool is_ruled_out(const Checklist& list, std::string_view id) {
    return std::ranges::find(list.ruled_out, id, &diagnose::RuledOut::id) != list.ruled_out.end();
}

Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), "diagnose");
    return railhead::test::run(words);
}

const std::vector<std::string> network_suspects = {
    "socket", "gdr", "rails", "placement", "tp-across-nodes", "batch-per-network"};

}  // namespace

TEST_CASE("the costs of faults are those worked out by hand", "[checklist]") {
    diagnose::RunSizes run;
    run.compute = 0.5;
    run.flops_per_s = 200e12;
    run.gpus_per_node = 8;
    run.nodes = 2;
    run.node_bytes_per_s = 200e9;
    run.hidden = 8000;
    run.tokens = {10'000, 10'000};

    // 8 x 200e12 / (10,000 x 80e9) = 2 of compute on the wire, 2/3 of it hidden.
    CHECK_THAT(diagnose::exposed_gradients(run, 80e9, 10'000),
               WithinRel(0.5 * (2 - 2.0 / 3), 1e-12));
    // At 200 GB/s it is 0.8, at 400 GB/s 0.4: hidden.
    CHECK_THAT(diagnose::exposed_gradients(run, 400e9, 10'000), WithinAbs(0, 1e-12));
    CHECK_THAT(diagnose::slower_network(run, {80e9, 80e9}).low, WithinRel(0.5 * (2 - 0.8), 1e-12));
    // 16 x 7 x 200e12 / (72 x 8,000 x 25e9) = 1.5556 of compute.
    CHECK_THAT(diagnose::tensor_traffic(run, 8, 25e9), WithinRel(0.5 * 14.0 / 9, 1e-12));
    // 3 idle of 12 + 3; four chunks: 3 of 48 + 3.
    CHECK_THAT(diagnose::pipeline_bubble(4, 12, 1), WithinRel(0.2, 1e-12));
    CHECK_THAT(diagnose::pipeline_bubble(4, 12, 4), WithinRel(3.0 / 51, 1e-12));
    // 100 s; 16 nodes at 6.50 failures in 1000 node-days fail every 230.77 h.
    CHECK_THAT(diagnose::checkpoint_stall(100, 16), WithinRel(0.0077580, 1e-4));
}

TEST_CASE("the first things to look for depend on the hardware and the size", "[checklist]") {
    const auto a100 = diagnose::make_checklist(question("a100", 128)).value();
    const auto h100 = diagnose::make_checklist(question("h100", 1024)).value();
    const auto node = diagnose::make_checklist(question("a100", 8)).value();

    CHECK(a100.nodes == 16);
    CHECK(h100.nodes == 128);
    CHECK(node.nodes == 1);
    CHECK(order_of(a100).front() == "socket");
    CHECK(order_of(node).front() == "p2p");
    CHECK(order_of(a100) != order_of(h100));
    // 0.22 / 0.653 of a step is compute on an A100, 0.22 / 0.625 on an H100.
    CHECK_THAT(a100.lost, WithinAbs(1 - 0.22 / 0.653, 1e-9));
    CHECK_THAT(h100.lost, WithinAbs(1 - 0.22 / 0.625, 1e-9));
    CHECK(find(a100, "recompute").share.high != find(h100, "recompute").share.high);
    // A job of more nodes meets a slow one more often.
    CHECK(find(h100, "straggler").expected > 3 * find(a100, "straggler").expected);
}

TEST_CASE("one node has no fault of the network", "[checklist]") {
    const auto list = diagnose::make_checklist(question("h100", 8)).value();

    for (const auto& id : network_suspects) {
        CAPTURE(id);
        CHECK(std::ranges::find(list.suspects, id, &diagnose::Suspect::id) == list.suspects.end());
        CHECK(is_ruled_out(list, id));
    }
}

TEST_CASE("a NIC that is named changes figures and order", "[checklist]") {
    auto slower = question("a100", 128);
    slower.nic = *training::find_nic(training::built_in_catalogue(), "edr");
    slower.nic_said = true;
    const auto usual = diagnose::make_checklist(question("a100", 128)).value();
    const auto edr = diagnose::make_checklist(slower).value();

    CHECK(order_of(usual) != order_of(edr));
    CHECK(find(edr, "batch-per-network").share.high > find(usual, "batch-per-network").share.high);
    CHECK(find(edr, "gdr").share.low > find(usual, "gdr").share.low);
}

TEST_CASE("gains add up to no more than is lost, and no MFU is above the best published",
          "[checklist]") {
    const auto& catalogue = training::built_in_catalogue();
    unsigned lists = 0;
    for (const auto& accelerator : catalogue.accelerators) {
        for (const std::uint64_t gpus : {1, 8, 128, 1024, 16'384}) {
            for (const double mfu : {0.02, 0.22, 0.45, 0.6}) {
                auto asked = question(accelerator.name.c_str(), gpus, mfu);
                const auto list = diagnose::make_checklist(asked);
                if (!list) {
                    continue;  // no peak, no published run or no usual NIC: told as such elsewhere
                }
                CAPTURE(accelerator.name, gpus, mfu);
                ++lists;
                double last = mfu;
                for (const auto& suspect : list->suspects) {
                    CAPTURE(suspect.id);
                    CHECK(suspect.share.low >= 0);
                    CHECK(suspect.share.low <= suspect.share.high);
                    CHECK(suspect.share.high <= list->lost + 1e-9);
                    CHECK(suspect.alone.high <= list->best + 1e-9);
                    CHECK(suspect.after.high <= list->best + 1e-9);
                    CHECK(suspect.after.low <= suspect.after.high + 1e-9);
                    CHECK(suspect.after.high >= last - 1e-9);
                    last = suspect.after.high;
                }
            }
        }
    }
    CHECK(lists > 100);
}

TEST_CASE("what is known of the run makes ranges narrow", "[checklist]") {
    auto known = question("a100", 128);
    known.tokens_per_step = 1024.0 * 4096;
    known.tensor_parallel = 8;
    known.pipeline_parallel = 4;
    known.microbatches = 12;
    known.recompute = training::Recompute::none;
    const auto list = diagnose::make_checklist(known).value();

    const auto& bubble = find(list, "bubble");
    CHECK(bubble.is_known);
    CHECK(bubble.share.is_exact());
    CHECK_THAT(bubble.share.low, WithinAbs(0.2 - 3.0 / 51, 1e-9));
    CHECK_THAT(bubble.alone.low, WithinAbs(0.22 / (1 - (0.2 - 3.0 / 51)), 1e-9));
    CHECK(is_ruled_out(list, "recompute"));
}

TEST_CASE("a fault that costs more than is lost is ruled out", "[checklist]") {
    const auto list = diagnose::make_checklist(question("h100", 1024, 0.5)).value();

    CHECK(is_ruled_out(list, "socket"));
}

TEST_CASE("a layout that was said is never ruled out, and is promised no more than is lost",
          "[checklist]") {
    auto asked = question("a100", 128);
    asked.tensor_parallel = 64;
    const auto list = diagnose::make_checklist(asked).value();

    const auto& across = find(list, "tp-across-nodes");
    CHECK(across.is_known);
    CHECK(across.share.low <= list.lost);
    CHECK_THAT(across.arithmetic, ContainsSubstring("no more than what is lost"));
}

TEST_CASE("what is expected is the middle of what may be gained", "[checklist]") {
    const auto list = diagnose::make_checklist(question("a100", 128)).value();

    for (const auto* id : {"socket", "rails", "gdr", "tp-across-nodes"}) {
        CAPTURE(id);
        const auto& suspect = find(list, id);
        CHECK_THAT(suspect.expected, WithinAbs(suspect.share.middle(), 1e-12));
    }
}

TEST_CASE("a checklist that cannot be made says what is missing", "[checklist]") {
    struct Case {
        std::vector<std::string> words;
        std::string says;
    };
    const std::vector<Case> cases = {
        {{"--mfu", "22"}, "--gpus"},
        {{"--mfu", "0.22", "--gpus", "8", "--accelerator", "a100"}, "--mfu 22"},
        {{"--mfu", "170", "--gpus", "8", "--accelerator", "a100"}, "--mfu 22"},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "a1000"}, "a100"},
        {{"--mfu", "22", "--gpus", "64", "--accelerator", "gb200"}, "--nic"},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "v100"}, "highest_mfu"},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "a100", "--batch", "8"}, "--sequence"},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "a100", "--batch", "0"}, "--batch \"0\""},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "a100", "--batch=-4"}, "--batch \"-4\""},
        {{"--mfu", "22", "--gpus", "0", "--accelerator", "a100"}, "--gpus: "},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "a100", "--nics", "9999"}, "--nics: "},
        {{"--mfu", "22", "--gpus", "8", "--accelerator", "a100", "--tp", "8", "--pp", "2"},
         "needs 16 GPUs, and --gpus says 8"},
    };
    for (const auto& [words, says] : cases) {
        CAPTURE(words);
        const auto ran = run(words);
        CHECK(ran.status == 2);
        CHECK(ran.out.empty());
        CHECK_THAT(ran.err, ContainsSubstring(says));
    }
}

TEST_CASE("a checklist fits 80 columns and keeps its commands whole", "[checklist][report]") {
    const auto ran = run({"--mfu", "22 %", "--gpus", "128", "--accelerator", "a100"});

    CHECK(ran.status == 0);
    for (const auto line : railhead::split(ran.out, '\n')) {
        CAPTURE(line);
        CHECK(railhead::report::columns(line) <= 80);
    }
    const auto list = diagnose::make_checklist(question("a100", 128)).value();
    for (const auto& suspect : list.suspects) {
        CAPTURE(suspect.id);
        CHECK_FALSE(suspect.look.empty());
        CHECK_FALSE(suspect.fix.empty());
        CHECK_FALSE(suspect.source.empty());
        for (const auto& command : suspect.look) {
            CAPTURE(command);
            CHECK_THAT(ran.out, ContainsSubstring(command));
        }
    }
    for (const auto* tool : {"nsys ", "NCCL_DEBUG=INFO", "all_reduce_perf", "dcgmi "}) {
        CHECK_THAT(ran.out, ContainsSubstring(tool));
    }
}

TEST_CASE("what no run has reached is not called published", "[checklist][report]") {
    const auto ran = run({"--mfu", "22", "--gpus", "8", "--accelerator", "b200"});
    CHECK_THAT(ran.out, ContainsSubstring("Reachable"));
    CHECK(ran.out.find("Published") == std::string::npos);
    CHECK_THAT(run({"--mfu", "22", "--gpus", "8", "--accelerator", "a100"}).out,
               ContainsSubstring("Published  at most 65.3 % in bf16, by \"matrices\""));
}

TEST_CASE("a checklist as JSON has the figures of the text", "[checklist][report]") {
    const auto ran = run({"--mfu", "22", "--gpus", "128", "--accelerator", "a100", "--json"});

    const auto document = nlohmann::json::parse(ran.out);
    CHECK(document["schema"] == "railhead.checklist/1");
    CHECK(document["nodes"] == 16);
    CHECK(document["suspects"][0]["id"] == "socket");
    CHECK_THAT(document["lost_share"].get<double>(), WithinAbs(1 - 0.22 / 0.653, 1e-6));
}
