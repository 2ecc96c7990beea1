// docs/models.md and docs/memory.md print figures of our own functions: each is worked out here,
// and has to be there.
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/file.hpp"
#include "checkpoint/cost.hpp"
#include "checkpoint/interval.hpp"
#include "checkpoint/mtbf.hpp"
#include "report/quantity_text.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/published.hpp"
#include "support/shapes.hpp"
#include "training/catalogue.hpp"
#include "training/memory.hpp"
#include "training/traffic.hpp"

namespace checkpoint = railhead::checkpoint;
namespace report = railhead::report;
namespace training = railhead::training;
using Catch::Matchers::WithinRel;

namespace {

constexpr double gb = 1e9;
constexpr double hour = 3600;
constexpr std::uint64_t nodes = 125;  // 1,000 GPUs

const std::string& document(const char* name) {
    static const auto models =
        railhead::read_file(railhead::test::checkout("docs/models.md")).value();
    static const auto memory =
        railhead::read_file(railhead::test::checkout("docs/memory.md")).value();
    return std::string{name} == "models" ? models : memory;
}

void says(const std::string& row) {
    CHECK_THAT(document("models"), ContainsSubstring(row));
}

/// The row of an interval: what it is, how long, and the time it costs over working time alone.
std::string interval_row(const char* name, const checkpoint::Timing& timing, double interval_s) {
    return fmt::format("| {} | {} | {:.2f} % |", name, report::time_text(interval_s),
                       100 * (checkpoint::stretch(timing, interval_s) - 1));
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace

TEST_CASE("docs: an interval as long as the MTBF costs most of the time", "[docs][models]") {
    const auto mtbf_s = checkpoint::gang_mtbf_s(6.5, nodes).value();
    const auto timing = checkpoint::Timing::make({mtbf_s, 60, 0, 0}).value();
    says(interval_row("the MTBF", timing, mtbf_s));
    says(interval_row("Young, √(2 δ M)", timing, checkpoint::young_s(timing)));
    says(interval_row("Daly, eq. 37", timing, checkpoint::daly_s(timing)));
    // Published: 72.0 % against 3.44 % at 59.5 min.
    CHECK_THAT(checkpoint::stretch(timing, mtbf_s) - 1, WithinRel(0.720, 1e-3));
    CHECK_THAT(checkpoint::young_s(timing) / 60, WithinRel(59.5, 1e-3));
    CHECK_THAT(checkpoint::stretch(timing, checkpoint::young_s(timing)) - 1,
               WithinRel(0.0344, 2e-3));
}

TEST_CASE("docs: how often a thousand GPUs fail", "[docs][models]") {
    for (const auto& rate : checkpoint::published_rates()) {
        const auto mtbf_s = checkpoint::gang_mtbf_s(rate.per_1000_node_days, nodes).value();
        says(fmt::format("| {} | {:g} | {} | {:.2f} |", rate.name, rate.per_1000_node_days,
                         report::time_text(mtbf_s), 24 * hour / mtbf_s));
    }
    // The MTBF that a rule of thumb says, and the GPUs that have it.
    for (const auto mtbf_h : {4.0, 1.6}) {
        const auto gpus = [&](const char* rate) {
            return 8 * checkpoint::rate_per_1000_node_days(mtbf_h * hour, 1) /
                   checkpoint::find_rate(rate)->per_1000_node_days;
        };
        says(fmt::format("| {:g} h | {:g} | {:.0f} | {:.0f} |", mtbf_h, 24 / mtbf_h, gpus("rsc-1"),
                         gpus("llama-3")));
    }
}

TEST_CASE("docs: gradient traffic hardly depends on data parallelism", "[docs][models]") {
    constexpr double parameters = 65.2e9;
    constexpr double window_s = 3.6 * 2 / 3;
    for (const auto d : {2.0, 8.0, 144.0, 1024.0}) {
        const auto bytes = training::gradient_traffic(parameters / 8, training::usual_recipe(),
                                                      training::Sharding::none, d)
                               .total();
        says(fmt::format("| {:g} | {} | {} | {} |", d, report::bytes_text(2 * parameters * 2 * d),
                         report::bytes_text(bytes), report::bandwidth_text(bytes / window_s)));
    }
}

TEST_CASE("docs: a checkpoint is more than weights", "[docs][models]") {
    checkpoint::Store store;
    store.bytes_per_s = 5 * gb;
    const auto row = [&](const char* what, double bytes_per_param) {
        const auto bytes = 70e9 * bytes_per_param;
        return fmt::format("| {} | {:g} | {} | {:.0f} s |", what, bytes_per_param,
                           report::bytes_text(bytes),
                           checkpoint::write_time_s(bytes, store).value());
    };
    says(row("fp32 weights alone", 4));
    says(row("`adam-fp32`", checkpoint::find_recipe("adam-fp32")->in_checkpoint()));
    says(row("`adam-mixed`", checkpoint::find_recipe("adam-mixed")->in_checkpoint()));
    says(fmt::format("| MLPerf Storage, Llama 3 70B | 12.9 | 912 GB | {:.0f} s |",
                     checkpoint::write_time_s(912 * gb, store).value()));
}

TEST_CASE("docs: what an H100 was seen to reach", "[docs][models]") {
    const auto* h100 =
        training::find_accelerator(training::built_in_catalogue(), "h100-sxm").value();
    const auto bf16 = training::Precision::bf16;
    says(fmt::format("| highest published MFU | {} |", percent(h100->highest(bf16)->share)));
    says(fmt::format("| best matmul that was measured | {} |",
                     percent(*h100->measured_tflops(bf16) / *h100->peak_tflops(bf16))));
}

TEST_CASE("docs: eight ports of HDR are not 3.2 Tb/s", "[docs][models]") {
    for (const auto* name : {"hdr", "ndr"}) {
        const auto* nic = training::find_nic(training::built_in_catalogue(), name).value();
        says(fmt::format("| {} | {:g} Gb/s | {:.1f} Tb/s |", name, nic->port_gbit_per_s,
                         nic->port_gbit_per_s * nic->per_node / 1000));
    }
}

TEST_CASE("docs: every claim that was corrected is in it", "[docs][models][published]") {
    RAILHEAD_NEED_PUBLISHED();
    int claims = 0;
    for (const auto& row : railhead::test::read_published("persona_corrections")) {
        CAPTURE(row.text("claim"));
        ++claims;
    }
    CHECK(claims == 7);  // one heading each: a new row needs a new one
    for (const auto* heading :
         {"3.2 Tb/s of HDR", "An MTBF of 4 h", "15 failures a day", "An interval of one MTBF",
          "2 · P · bytes · DP", "280 GB", "60 % of the peak"}) {
        CAPTURE(heading);
        CHECK_THAT(document("models"), ContainsSubstring(heading));
    }
}

TEST_CASE("docs: the memory of three models", "[docs][memory]") {
    struct Case {
        training::Shape shape;
        std::uint64_t tp, pp, ep, dp;
        training::Recompute recompute;
    };
    using training::Recompute;
    for (const auto& known : {Case{railhead::test::llama_65b(), 8, 1, 1, 144, Recompute::none},
                              Case{railhead::test::llama_405b(), 8, 16, 1, 64, Recompute::none},
                              Case{railhead::test::deepseek_v3(), 1, 16, 64, 2, Recompute::full}}) {
        CAPTURE(known.shape.name);
        training::Layout layout;
        layout.tp = known.tp;
        layout.pp = known.pp;
        layout.ep = known.ep;
        layout.dp = known.dp;
        layout.recompute = known.recompute;
        const auto memory = training::memory_per_gpu(
            known.shape, layout, *training::find_recipe("adam-mixed-fp32-grads"));
        const auto in_gb = [](double bytes) { return fmt::format("{:.2f}", bytes / gb); };
        CHECK_THAT(document("memory"),
                   ContainsSubstring(
                       fmt::format("| {} | {} | {} | {} | {} | {} | {} |", known.shape.name,
                                   in_gb(memory.state.weights), in_gb(memory.state.gradients),
                                   in_gb(memory.state.optimizer), in_gb(memory.activations),
                                   in_gb(memory.recomputed), in_gb(memory.reserve))));
    }
    // The two formulas side by side.
    training::Layout layout;
    layout.tp = 8;
    const auto shape = railhead::test::llama_65b();
    CHECK_THAT(document("memory"),
               ContainsSubstring(
                   fmt::format("{:.2f} GB by Korthikanti's formula, {:.2f} GB by the sum",
                               80 * training::korthikanti_activations(shape, layout).kept / gb,
                               80 * training::term_activations(shape, layout, 0).kept / gb)));
}
