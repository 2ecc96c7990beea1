#include "diagnose/waterfall.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace railhead::diagnose {

namespace {

/// What the silicon takes: matmuls below their peak, and those that are done twice.
std::vector<Bar> compute_bars(const training::MfuAnswer& answer, double speed) {
    std::vector<Bar> bars;
    auto used = answer.utilization;
    used.mfu *= speed;
    used.hfu *= speed;
    const auto measured = answer.accelerator->measured_tflops(answer.precision);
    const double reached = measured ? *measured / used.peak_tflops : 1;
    if (measured && reached < 1) {
        bars.push_back({"no matmul reaches the peak", used.mfu * (1 / reached - 1),
                        fmt::format("{:.1f} % x ({:.0f} / {:.0f} TFLOP/s - 1)", used.mfu * 100,
                                    used.peak_tflops, *measured)});
    }
    if (used.hfu > used.mfu) {
        bars.push_back({"activations computed again", (used.hfu - used.mfu) / reached,
                        fmt::format("HFU {:.1f} % - MFU {:.1f} %{}", used.hfu * 100, used.mfu * 100,
                                    measured ? ", at the speed of the best matmul" : "")});
    }
    return bars;
}

/// "finding pipeline-bubble, 5.9 % of it stays"
std::string from_text(const Finding& finding) {
    auto text = fmt::format("finding {}", finding.rule->id);
    if (finding.stays > 0) {
        text += fmt::format(": {:.1f} % after its fix", finding.stays * 100);
    }
    return text;
}

double sum_of(const std::vector<Bar>& bars) {
    double sum = 0;
    for (const auto& bar : bars) {
        sum += bar.share;
    }
    return sum;
}

}  // namespace

std::optional<Waterfall> make_waterfall(const Facts& facts, const Diagnosis& diagnosis) {
    const auto* training = facts.main_training();
    if (training == nullptr || !training->mfu) {
        return std::nullopt;
    }
    const auto& answer = *training->mfu;
    const double speed = training->speed_now();
    if (!(answer.utilization.mfu * speed < 1)) {
        return std::nullopt;  // there is no such run
    }
    Waterfall fall;
    fall.mfu = answer.utilization.mfu * speed;
    fall.mfu_of_all = answer.utilization.mfu;
    fall.convention = answer.utilization.convention->name;
    fall.bars = compute_bars(answer, speed);
    const double lost = 1 - fall.mfu;
    if (const double sum = sum_of(fall.bars); sum > lost) {
        fall.is_scaled = true;
        std::ranges::for_each(fall.bars, [&](Bar& bar) { bar.share *= lost / sum; });
    }
    const double left = lost - sum_of(fall.bars);
    std::vector<Bar> found;
    for (const auto* finding : diagnosis.with(Answer::found)) {
        // What is computed again has its bar already, and another log's steps are not these.
        const bool is_of_other = !finding->evidence.empty() &&
                                 finding->evidence.front().file != training->file &&
                                 std::ranges::find(facts.training, finding->evidence.front().file,
                                                   &TrainingFacts::file) != facts.training.end();
        if (finding->step_share && finding->consequence_of.empty() && !is_of_other &&
            finding->rule->id != "full-recompute") {
            found.push_back({std::string{finding->rule->looks_for},
                             *finding->step_share + finding->stays, from_text(*finding)});
        }
    }
    if (const double sum = sum_of(found); sum > left) {
        fall.is_scaled = true;
        std::ranges::for_each(found, [&](Bar& bar) { bar.share *= left / sum; });
    }
    fall.bars.insert(fall.bars.end(), found.begin(), found.end());
    fall.bars.push_back({"unexplained", std::max(0.0, lost - sum_of(fall.bars)),
                         "what no evidence in the input explains"});
    return fall;
}

}  // namespace railhead::diagnose
