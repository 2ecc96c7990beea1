#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/json_parts.hpp"
#include "report/mfu.hpp"

namespace railhead::report {

namespace {

using json = nlohmann::ordered_json;
using training::LogSummary;
using training::MfuAnswer;
using training::Utilization;

constexpr std::string_view doubts[] = {"none", "question", "warning", "impossible"};

json utilization_json(const Utilization& about) {
    return {{"convention", about.convention->name},
            {"mfu", rounded(about.mfu)},
            {"hfu", rounded(about.hfu)},
            {"model_flops_per_token", rounded(about.model_flops_per_token)},
            {"hardware_flops_per_token", rounded(about.hardware_flops_per_token)},
            {"model_tflops_per_gpu", rounded(about.model_tflops_per_gpu)}};
}

json answer_json(const MfuAnswer& answer) {
    auto others = json::array();
    for (const auto& other : answer.others) {
        others.push_back(utilization_json(other));
    }
    auto inputs = json::array();
    for (const auto& input : answer.inputs) {
        inputs.push_back({{"what", input.what}, {"value", input.value}, {"from", input.from}});
    }
    const auto* highest = answer.accelerator->highest(answer.precision);
    auto document = utilization_json(answer.utilization);
    document.update(
        {{"tokens_per_s", rounded(answer.rate.tokens_per_s)},
         {"gpus", rounded(answer.rate.gpus)},
         {"formula", answer.utilization.convention->formula},
         {"besides", training::counted_besides(answer.shape, *answer.utilization.convention)},
         {"recompute", to_string(answer.utilization.recompute)},
         {"accelerator", answer.accelerator->name},
         {"precision", to_string(answer.precision)},
         {"peak_tflops", rounded(answer.utilization.peak_tflops)},
         {"peak_source", answer.accelerator->source},
         {"published_mfu", highest != nullptr ? rounded(highest->share) : json(nullptr)},
         {"published_source", highest != nullptr ? json(highest->source) : json(nullptr)},
         {"published_convention", highest != nullptr && !highest->convention.empty()
                                      ? json(highest->convention)
                                      : json(nullptr)},
         {"printed_share", or_null(answer.printed_share)},
         {"doubt", doubts[static_cast<std::size_t>(answer.judgement.doubt)]},
         {"reason", answer.judgement.reason},
         {"others", std::move(others)},
         {"inputs", std::move(inputs)},
         {"assumptions", answer.assumptions}});
    return document;
}

std::string_view unit_of(training::Measure measure) {
    switch (measure) {
        case training::Measure::step_s:
            return "s_per_step";
        case training::Measure::seconds_a_token_gpu:
            return "s_per_token_of_a_gpu";
        case training::Measure::seconds_a_sample:
            return "s_per_sample";
        case training::Measure::none:
            break;
    }
    return "none";
}

json level_json(const training::Level& level) {
    return {{"first", level.first},
            {"last", level.last},
            {"lines", level.lines},
            {"time", rounded(level.time)},
            {"tflops", or_null(level.tflops)}};
}

json changes_json(const LogSummary& summary) {
    auto list = json::array();
    for (const auto& shift : summary.shifts) {
        list.push_back({{"left", shift.left},
                        {"settled", shift.settled},
                        {"line", shift.line},
                        {"change", rounded(shift.change())},
                        {"before", level_json(shift.before)},
                        {"after", level_json(shift.after)}});
    }
    return list;
}

json slow_json(const training::SlowSteps& slow) {
    auto worst = json::array();
    for (const auto& step : slow.worst) {
        worst.push_back({{"iteration", step.iteration},
                         {"line", step.line},
                         {"time", rounded(step.time)},
                         {"usual", rounded(step.usual)}});
    }
    return {{"count", slow.count},
            {"lost_share", rounded(slow.lost_share)},
            {"every", or_null(slow.every)},
            {"worst", std::move(worst)}};
}

json spikes_json(const LogSummary& summary) {
    auto list = json::array();
    for (const auto& spike : summary.spikes) {
        list.push_back({{"iteration", spike.iteration},
                        {"line", spike.line},
                        {"before", rounded(spike.before)},
                        {"loss", rounded(spike.loss)},
                        {"recovered", spike.recovered ? json(*spike.recovered) : json(nullptr)}});
    }
    return list;
}

json hang_json(const std::optional<training::Hang>& hang) {
    if (!hang) {
        return nullptr;
    }
    return {{"certain", hang->certain()},
            {"silent_s", or_null(hang->silent_s)},
            {"at_least", hang->at_least},
            {"usual_s", or_null(hang->usual_s)},
            {"last_iteration", hang->last_iteration},
            {"last_line", hang->last_line},
            {"after", hang->after ? json(name_of(hang->after->kind)) : json(nullptr)}};
}

json interrupted_json(const training::Interrupted& what) {
    return {{"steps", what.count}, {"time", rounded(what.time)}};
}

json log_json(const MfuReport& report) {
    const auto& summary = *report.summary;
    const auto& run = report.log->runs[summary.run];
    auto levels = json::array();
    for (const auto& level : summary.levels) {
        levels.push_back(level_json(level));
    }
    return {{"file", report.log->file},
            {"kind", name_of(run.kind)},
            {"lines", report.log->lines},
            {"run", summary.run + report.log->runs_left_out + 1},
            {"runs", report.log->runs.size() + report.log->runs_left_out},
            {"unit", unit_of(summary.measure)},
            {"step_lines", summary.lines},
            {"one_in", summary.stride},
            {"warm_up", summary.warm_up},
            {"time",
             {{"q1", rounded(summary.time.q1)},
              {"median", rounded(summary.time.median)},
              {"q3", rounded(summary.time.q3)}}},
            {"tflops", or_null(summary.tflops)},
            {"mfu_printed", or_null(summary.mfu_printed)},
            {"validation", interrupted_json(summary.validation)},
            {"checkpoint", interrupted_json(summary.checkpoint)},
            {"levels", std::move(levels)},
            {"changes", changes_json(summary)},
            {"trend_share", rounded(summary.trend_share)},
            {"slow", slow_json(summary.slow)},
            {"loss_spikes", spikes_json(summary)},
            {"skipped", rounded(run.skipped)},
            {"nan", rounded(run.nan)},
            {"nan_losses", run.nan_losses},
            {"memory_bytes", or_null(run.memory_bytes)},
            {"hang", hang_json(summary.hang)}};
}

}  // namespace

std::string mfu_json(const MfuReport& report) {
    const json document = {{"schema", "railhead.mfu/1"},
                           {"finding", has_finding(report)},
                           {"answer", report.answer ? answer_json(*report.answer) : json(nullptr)},
                           {"missing", report.missing},
                           {"log", report.summary ? log_json(report) : json(nullptr)}};
    return document_text(document);
}

}  // namespace railhead::report
