#include "report/mfu.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"
#include "report/training_text.hpp"

namespace railhead::report {

namespace {

using training::LogSummary;
using training::Measure;
using training::MfuAnswer;
using training::Utilization;

constexpr std::size_t width = 80;
constexpr std::size_t most_rows = 8;

std::string percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

std::string attention_text(training::Attention attention) {
    switch (attention) {
        case training::Attention::none:
            return "none";
        case training::Attention::full:
            return "full";
        case training::Attention::causal:
            return "causal";
    }
    return "";
}

/// The one figure that people compare runs by, and what it is of.
void add_answer(Table& table, const MfuAnswer& answer) {
    const auto& about = answer.utilization;
    const auto& convention = *about.convention;
    table.add({"MFU",
               fmt::format("{}, by convention \"{}\": {} ({})", percent(about.mfu), convention.name,
                           formula_text(answer.shape, convention), convention.source)});
    table.add({"HFU", about.recompute == training::Recompute::none
                          ? fmt::format("{}: nothing is recomputed", percent(about.hfu))
                          : fmt::format("{}, with {} recomputation", percent(about.hfu),
                                        to_string(about.recompute))});
    const auto gpus = answer.rate.gpus;
    table.add({"Speed", fmt::format("{} tokens/s on {:.0f} {}, {:.1f} TFLOP/s a GPU",
                                    large_text(answer.rate.tokens_per_s), gpus,
                                    gpus == 1 ? "GPU" : "GPUs", about.model_tflops_per_gpu)});
    table.add({"Peak", fmt::format("{:.6g} TFLOP/s, dense {}, of {} ({})", about.peak_tflops,
                                   to_string(answer.precision), answer.accelerator->name,
                                   answer.accelerator->source)});
    if (const auto* highest = answer.accelerator->highest(answer.precision)) {
        table.add(
            {"Published", fmt::format("at most {} of {} in {}, {} ({})", percent(highest->share),
                                      answer.accelerator->name, to_string(answer.precision),
                                      by_convention(*highest), highest->source)});
    }
    if (answer.printed_share) {
        table.add({"Printed", fmt::format("{:.1f} TFLOP/s a GPU, {} of the peak, by the log's own "
                                          "count of FLOPs",
                                          *answer.printed_share * about.peak_tflops,
                                          percent(*answer.printed_share))});
    }
    switch (answer.judgement.doubt) {
        case training::Doubt::none:
            break;
        case training::Doubt::question:
            table.add({"Question", answer.judgement.reason});
            break;
        case training::Doubt::warning:
            table.add({"Warning", answer.judgement.reason});
            break;
        case training::Doubt::impossible:
            table.add({"Impossible", answer.judgement.reason});
            break;
    }
}

std::string others_text(const MfuAnswer& answer) {
    Table table{{"convention", "attention", "MFU", "HFU", "FLOPs a token"}};
    const auto add = [&](const Utilization& about) {
        table.add({std::string{about.convention->name}, attention_text(about.convention->attention),
                   percent(about.mfu), percent(about.hfu), std::string{about.convention->formula}});
    };
    add(answer.utilization);
    std::ranges::for_each(answer.others, add);
    std::vector<const training::Convention*> others;
    const auto told = counted_besides(answer.shape, *answer.utilization.convention);
    for (const auto& other : answer.others) {
        if (counted_besides(answer.shape, *other.convention) != told) {
            others.push_back(other.convention);
        }
    }
    const auto besides = besides_text(answer.shape, others);
    return table.text(2, width) + (besides.empty() ? "" : "\n" + besides);
}

std::string inputs_text(const MfuAnswer& answer) {
    std::string text;
    if (!answer.inputs.empty()) {
        Table table;
        for (const auto& input : answer.inputs) {
            table.add({printable(input.what), printable(input.value), printable(input.from)});
        }
        text += "\nFrom\n" + table.text(2, width);
    }
    if (!answer.assumptions.empty()) {
        text += "\nAssumed\n";
        for (const auto& assumption : answer.assumptions) {
            Table table;
            table.add({assumption});
            text += table.text(2, width);
        }
    }
    return text;
}

/// A path that fits a line; of a longer one the last folders, or its name alone.
std::string path_text(const std::string& path) {
    constexpr std::size_t most = 48;
    const auto shown = printable(path);
    if (columns(shown) <= most) {
        return shown;
    }
    const auto end = shown.substr(shown.size() - (most - 3));
    const auto folder = end.find('/');
    return folder == std::string::npos ? shown.substr(shown.rfind('/') + 1)
                                       : "..." + end.substr(folder);
}

std::string lines_text(const MfuReport& report) {
    const auto& log = *report.log;
    const auto& run = log.runs[report.summary->run];
    auto text =
        fmt::format("{}: {}, run {} of {}, {} about steps", path_text(log.file), name_of(run.kind),
                    report.summary->run + log.runs_left_out + 1,
                    log.runs.size() + log.runs_left_out, count_of(report.summary->lines, "line"));
    if (report.summary->warm_up > 0) {
        text += fmt::format(", the first {} left out as warm-up", report.summary->warm_up);
    }
    if (report.summary->stride > 1) {
        text += fmt::format("; one in {} was looked at, by chance", report.summary->stride);
    }
    if (log.wrapped > 0) {
        text += fmt::format("; {} wrapped", log.wrapped);
    }
    return text;
}

std::string iterations_text(std::uint64_t first, std::uint64_t last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string level_mfu(const MfuReport& report, double time) {
    if (!report.answer || !(time > 0)) {
        return "";
    }
    return fmt::format(
        ", MFU {}", percent(report.answer->utilization.mfu * report.summary->time.median / time));
}

void add_steps(Table& table, const MfuReport& report) {
    const auto& summary = *report.summary;
    if (summary.timed == 0) {
        table.add({"Steps", "the log has no step times"});
        return;
    }
    // The smaller figure first: of rates that of the longer time.
    const bool is_time = summary.measure == Measure::step_s;
    const auto low = is_time ? summary.time.q1 : summary.time.q3;
    const auto high = is_time ? summary.time.q3 : summary.time.q1;
    table.add({"Steps",
               fmt::format("median {}, quartiles {} and {}",
                           speed_text(summary.measure, summary.time.median),
                           speed_text(summary.measure, low), speed_text(summary.measure, high))});
    for (const auto& [name, what] : {std::pair{"Validation", summary.validation},
                                     std::pair{"Checkpoint", summary.checkpoint}}) {
        if (what.count > 0) {
            table.add({name, fmt::format("{} right after one, not counted above: median {}",
                                         count_of(what.count, "step"),
                                         speed_text(summary.measure, what.time))});
        }
    }
}

void add_changes(Table& table, const MfuReport& report) {
    const auto& summary = *report.summary;
    for (std::size_t i = 0; i < std::min(summary.shifts.size(), most_rows); ++i) {
        const auto& shift = summary.shifts[i];
        auto text =
            fmt::format("after iteration {} (line {}): {}{}; from {} on {}{}; {:+.1f} % time",
                        shift.left, shift.line, speed_text(summary.measure, shift.before.time),
                        level_mfu(report, shift.before.time), shift.settled,
                        speed_text(summary.measure, shift.after.time),
                        level_mfu(report, shift.after.time), shift.change() * 100);
        if (shift.before.tflops && shift.after.tflops) {
            text += fmt::format(", {:.1f} to {:.1f} TFLOP/s as printed", *shift.before.tflops,
                                *shift.after.tflops);
        }
        table.add({shift.change() > 0 ? "Drop" : "Gain", text});
    }
    if (summary.trend_share != 0) {
        table.add({"Trend", fmt::format("{:+.1f} % time over the log, p = {:.2g} (Theil-Sen, "
                                        "Mann-Kendall)",
                                        summary.trend_share * 100, summary.trend->p_value)});
    }
}

void add_slow(Table& table, const LogSummary& summary) {
    const auto& slow = summary.slow;
    if (slow.count == 0) {
        return;
    }
    auto text = fmt::format("{}, {} of the time lost", count_of(slow.count, "slow step"),
                            share_text(slow.lost_share));
    if (slow.every) {
        text += fmt::format(", one in {:.0f} iterations", *slow.every);
    }
    const auto& worst = slow.worst.front();
    text += fmt::format("; the slowest at iteration {} (line {}): {}", worst.iteration, worst.line,
                        speed_text(summary.measure, worst.time));
    table.add({"Stragglers", text});
}

void add_loss(Table& table, const MfuReport& report) {
    const auto& summary = *report.summary;
    const auto& run = report.log->runs[summary.run];
    for (std::size_t i = 0; i < std::min(summary.spikes.size(), most_rows); ++i) {
        const auto& spike = summary.spikes[i];
        table.add({"Loss", fmt::format("{:.3g} to {:.3g} at iteration {} (line {}), {}",
                                       spike.before, spike.loss, spike.iteration, spike.line,
                                       spike.recovered ? fmt::format("back by {}", *spike.recovered)
                                                       : std::string{"not back in this log"})});
    }
    if (run.nan_losses > 0 || run.nan > 0 || run.skipped > 0) {
        table.add({"Numbers", fmt::format("{} with a loss that is no number; {:.0f} iterations "
                                          "skipped, {:.0f} with NaN",
                                          count_of(run.nan_losses, "line"), run.skipped, run.nan)});
    }
}

void add_hang(Table& table, const MfuReport& report) {
    if (!report.summary->hang) {
        return;
    }
    const auto& hang = *report.summary->hang;
    auto text = hang.silent_s
                    ? fmt::format("no step for {}{} after iteration {} (line {})",
                                  hang.at_least ? "at least " : "",
                                  duration_text(static_cast<std::uint64_t>(*hang.silent_s)),
                                  hang.last_iteration, hang.last_line)
                    : fmt::format("the log ends after iteration {} (line {})", hang.last_iteration,
                                  hang.last_line);
    if (hang.after) {
        text += fmt::format("; the last that is told is a {} (line {})", name_of(hang.after->kind),
                            hang.after->line);
    }
    if (hang.silent_s && hang.usual_s) {
        text += fmt::format("; a line about steps used to come every {}", time_text(*hang.usual_s));
    }
    table.add({hang.certain() ? "Hang" : "End", text});
}

/// Parts of the log with holes between them.
std::string levels_text(const LogSummary& summary) {
    if (summary.levels.size() < 2 || summary.levels.size() == summary.shifts.size() + 1) {
        return "";
    }
    Table table{{"iterations", "lines", "median", "TFLOP/s printed"}};
    for (std::size_t i = 0; i < std::min(summary.levels.size(), most_rows * 2); ++i) {
        const auto& level = summary.levels[i];
        table.add({iterations_text(level.first, level.last), fmt::format("{}", level.lines),
                   speed_text(summary.measure, level.time),
                   level.tflops ? fmt::format("{:.1f}", *level.tflops) : std::string{"-"}});
    }
    auto text = "\n" + table.text(2, width);
    if (summary.levels.size() > most_rows * 2) {
        text += fmt::format("  and {} more\n", summary.levels.size() - most_rows * 2);
    }
    return text;
}

}  // namespace

std::string speed_text(Measure measure, double time) {
    if (!(time > 0)) {
        return "unknown";
    }
    switch (measure) {
        case Measure::step_s:
            return fmt::format("{:.4g} s", time);
        case Measure::seconds_a_token_gpu:
            return large_text(1 / time) + " tokens/s a GPU";
        case Measure::seconds_a_sample:
            return large_text(1 / time) + " samples/s";
        case Measure::none:
            break;
    }
    return "unknown";
}

bool has_finding(const MfuReport& report) {
    const bool doubt = report.answer && report.answer->judgement.doubt >= training::Doubt::warning;
    if (doubt || !report.summary) {
        return doubt;
    }
    const auto& summary = *report.summary;
    const auto& run = report.log->runs[summary.run];
    const bool slower = !summary.shifts.empty() &&
                        summary.shifts.back().after.time >
                            summary.shifts.front().before.time * (1 + training::least_change);
    return slower || summary.trend_share > 0 || run.nan_losses > 0 ||
           (summary.hang && summary.hang->certain());
}

std::string mfu_text(const MfuReport& report) {
    Table table;
    if (report.answer) {
        add_answer(table, *report.answer);
    } else {
        table.add({"MFU", "not known"});
        for (const auto& missing : report.missing) {
            table.add({"", "needs " + missing});
        }
    }
    if (report.summary) {
        table.add({"Log", lines_text(report)});
        add_steps(table, report);
        add_changes(table, report);
        add_slow(table, *report.summary);
        add_loss(table, report);
        add_hang(table, report);
    }
    auto text = table.text(0, width);
    if (report.summary) {
        text += levels_text(*report.summary);
    }
    if (report.answer) {
        text += "\n" + others_text(*report.answer) + inputs_text(*report.answer);
    }
    return text;
}

}  // namespace railhead::report
