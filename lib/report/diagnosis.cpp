#include "report/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/mfu.hpp"
#include "report/shown_paths.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using diagnose::Answer;
using diagnose::Comparison;
using diagnose::Diagnosis;
using diagnose::Facts;
using diagnose::Finding;
using diagnose::Role;
using diagnose::Verdict;
using diagnose::Waterfall;

constexpr std::size_t width = 80;

std::string verdict_text(const Diagnosis& diagnosis) {
    const auto looked = diagnosis.with(Answer::not_found).size();
    switch (diagnosis.verdict) {
        case Verdict::healthy:
            return fmt::format("healthy, as far as the input goes: {} looked and found no fault",
                               count_of(looked, "rule"));
        case Verdict::cause_found:
            return "cause found";
        case Verdict::symptom_only:
            return "cause not determined: what is seen below has a cause that this input does not "
                   "show";
        case Verdict::too_little:
            return "no fault is seen, but too little of the run to call it healthy";
        case Verdict::nothing_to_see:
            break;
    }
    return "nothing to go by: no rule had what it needs";
}

std::string heading(const DiagnosisReport& report, const ShownPaths& paths) {
    Table table;
    table.add({"Verdict", verdict_text(report.diagnosis)});
    bool first = true;
    for (const auto& file : report.facts->files) {
        const auto kind = file.is_read ? std::string{name_of(file.kind)}
                          : !diagnose::refusal_of(file.kind).empty()
                              ? fmt::format("{}: not used; {}", name_of(file.kind),
                                            diagnose::refusal_of(file.kind))
                          : file.kind == diagnose::FileKind::unknown
                              ? std::string{"of no kind that is known: not used"}
                          : !file.trouble.empty()
                              ? fmt::format("{}: not used", name_of(file.kind))
                              : fmt::format("{}, in which no rule finds anything to read: not used",
                                            name_of(file.kind));
        const auto trouble = trouble_of(report, file);
        table.add({first ? "Files" : "", fmt::format("{}: {}{}{}", paths[file.file], kind,
                                                     trouble.empty() ? "" : "; ", trouble)});
        first = false;
    }
    return table.text(0, width);
}

std::string_view title_of(const Finding& finding) {
    if (!finding.consequence_of.empty()) {
        return "Follows";
    }
    switch (finding.role) {
        case Role::cause:
            return "Cause";
        case Role::symptom:
            return "Symptom";
        case Role::advice:
            break;
    }
    return "Advice";
}

void add_evidence(Table& table, const ShownPaths& paths, const Finding& finding) {
    bool first = true;
    for (const auto& one : finding.evidence) {
        const auto place =
            one.line == 0 ? paths[one.file] : fmt::format("{}:{}", paths[one.file], one.line);
        table.add({first ? "At" : "", one.text.empty() ? place : place + ": " + one.text});
        first = false;
    }
}

std::string finding_text(std::size_t number, const ShownPaths& paths, const Finding& finding) {
    Table head;
    head.add({fmt::format("{}.", number),
              fmt::format("{}, {}: {} ({})", title_of(finding), name_of(finding.confidence),
                          finding.rule->looks_for, finding.rule->id)});
    Table table;
    table.add({"What", finding.what});
    if (!finding.consequence_of.empty()) {
        table.add({"From", fmt::format("{}: mend that first", finding.consequence_of)});
    }
    table.add({"Why", std::string{finding.rule->why}});
    add_evidence(table, paths, finding);
    bool first = true;
    for (const auto& fix : finding.fix) {
        table.add({first ? "Fix" : "", fix});
        first = false;
    }
    if (finding.step_share) {
        table.add({"Cost", fmt::format("{:.1f} % of the time", *finding.step_share * 100)});
    }
    if (!finding.expected.empty()) {
        table.add({"After", finding.expected});
    }
    return "\n" + head.text(0, width) + table.text(3, width);
}

std::string bar_text(double share) {
    constexpr double cells = 24;
    return std::string(static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * cells)),
                       '#');
}

std::string waterfall_text(const Waterfall& fall) {
    Table table{{"of the peak", "", "what"}};
    table.add({"100.0 %", bar_text(1), "dense peak"});
    for (const auto& bar : fall.bars) {
        table.add({fmt::format("-{:.1f} %", bar.share * 100), bar_text(bar.share),
                   fmt::format("{} ({})", bar.what, bar.from)});
    }
    table.add({fmt::format("{:.1f} %", fall.mfu * 100), bar_text(fall.mfu),
               fmt::format("MFU of the last steps, by convention \"{}\"", fall.convention)});
    auto text = "\nWhere the peak goes\n" + table.text(3, width);
    if (fall.mfu != fall.mfu_of_all) {
        text +=
            fmt::format("   MFU of the usual step of the whole run, as of railhead mfu: {:.1f} %\n",
                        fall.mfu_of_all * 100);
    }
    if (fall.is_scaled) {
        text += "   Findings claim more than is lost: their bars are made smaller to fit.\n";
    }
    return text;
}

std::string wrapped(std::string_view sentence) {
    Table table;
    table.add({std::string{sentence}});
    return table.text(3, width);
}

/// What the MFU rests on.
std::string inputs_text(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr || !training->mfu || training->mfu->inputs.empty()) {
        return "";
    }
    Table table;
    for (const auto& input : training->mfu->inputs) {
        table.add({printable(input.what),
                   fmt::format("{}: {}", printable(input.value),
                               end_of_path(printable(input.from), ShownPaths::longest))});
    }
    auto text = "\nThe MFU is from\n" + table.text(3, width);
    for (const auto& assumption : training->mfu->assumptions) {
        text += wrapped(assumption);
    }
    return text;
}

std::string needs_text(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr || training->mfu || training->mfu_needs.empty()) {
        return "";
    }
    Table table;
    bool first = true;
    for (const auto& need : training->mfu_needs) {
        table.add({first ? "The MFU needs" : "", need});
        first = false;
    }
    return "\n" + table.text(0, width);
}

std::string number_text(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string{"not told"};
}

std::string comparison_text(const Comparison& about, const std::string& baseline) {
    auto text =
        fmt::format("\nAgainst {}: a step takes {:+.1f} % time\n",
                    end_of_path(printable(baseline), ShownPaths::longest), about.change() * 100);
    // Parts are as small as microseconds and as large as minutes: digits, not decimals.
    const auto unit = about.measure == training::Measure::step_s ? "s"
                      : about.measure == training::Measure::seconds_a_token_gpu
                          ? "s a token of a GPU"
                          : "s a sample";
    Table table{{"part", "before", "now", "change of the step"}};
    for (const auto& part : about.parts) {
        table.add({std::string{part.what}, fmt::format("{:.4g} {}", part.before, unit),
                   fmt::format("{:.4g} {}", part.now, unit),
                   fmt::format("{:+.1f} %", part.share * 100)});
    }
    text += table.text(3, width);
    if (about.tokens_before && about.tokens_now) {
        text += wrapped(fmt::format(
            "Steps are of unlike size, {:.6g} before and {:.6g} now: those of now are told as long "
            "as they would be with {:.6g}.",
            *about.tokens_before, *about.tokens_now, *about.tokens_before));
    } else if (about.tokens_unknown) {
        text += wrapped(
            "Whether a step is as large as before is not known: the logs do not tell "
            "batch and sequence.");
    }
    if (about.mfu_before && about.mfu_now) {
        text += fmt::format("   MFU {:.1f} % became {:.1f} %\n", *about.mfu_before * 100,
                            *about.mfu_now * 100);
    }
    for (const auto& one : about.changed) {
        text += fmt::format("   {}: {} became {}\n", one.what, number_text(one.before),
                            number_text(one.now));
    }
    return text;
}

std::string not_found_text(const Diagnosis& diagnosis) {
    const auto some = diagnosis.with(Answer::not_found);
    if (some.empty()) {
        return "";
    }
    Table table;
    for (const auto* finding : some) {
        table.add({std::string{finding->rule->id}, std::string{finding->rule->looks_for}});
    }
    return "\nLooked for and not found\n" + table.text(3, width);
}

std::string unknown_text(const Diagnosis& diagnosis) {
    const auto some = diagnosis.with(Answer::unknown);
    if (some.empty()) {
        return "";
    }
    std::string text = "\nUnknown for want of\n";
    for (const auto input : diagnosis.wanted()) {
        std::string ids;
        for (const auto* finding : some) {
            if (std::ranges::find(finding->missing, input) != finding->missing.end()) {
                ids += fmt::format("{}{}", ids.empty() ? "" : ", ", finding->rule->id);
            }
        }
        Table need;
        need.add({fmt::format("{}:", name_of(input))});
        Table rules;
        rules.add({ids});
        text += need.text(3, width) + rules.text(6, width);
    }
    return text;
}

}  // namespace

std::string trouble_of(const DiagnosisReport& report, const diagnose::FileFacts& file) {
    const auto& facts = *report.facts;
    const auto cut = std::ranges::find(report.cut, facts.sources.name(file.file), &CutFile::name);
    if (cut != report.cut.end()) {
        return "only a part of it could be read: " + cut->why;
    }
    if (!file.trouble.empty()) {
        return printable(file.trouble);
    }
    const auto log = std::ranges::find(facts.training, file.file, &diagnose::TrainingFacts::file);
    return log != facts.training.end() && !diagnose::is_timed(*log)
               ? std::string{"fewer than three timed steps: its speed was not looked at"}
               : std::string{};
}

std::string diagnosis_text(const DiagnosisReport& report) {
    const ShownPaths paths{report.facts->sources};
    auto text = heading(report, paths);
    std::size_t number = 0;
    for (const auto* finding : report.diagnosis.with(Answer::found)) {
        text += finding_text(++number, paths, *finding);
    }
    if (report.comparison) {
        text += comparison_text(*report.comparison, report.baseline);
    }
    if (report.waterfall) {
        text += waterfall_text(*report.waterfall);
    }
    text += inputs_text(*report.facts) + needs_text(*report.facts);
    return text + not_found_text(report.diagnosis) + unknown_text(report.diagnosis);
}

}  // namespace railhead::report
