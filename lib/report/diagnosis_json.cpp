#include "report/diagnosis_json.hpp"

#include <utility>

#include "report/diagnosis.hpp"
#include "report/json_parts.hpp"

namespace railhead::report {

namespace {

using diagnose::Answer;
using diagnose::Facts;
using diagnose::Finding;
using json = nlohmann::ordered_json;

json files_json(const DiagnosisReport& report) {
    const auto& facts = *report.facts;
    auto files = json::array();
    for (const auto& file : facts.files) {
        const auto trouble = trouble_of(report, file);
        files.push_back({{"file", facts.sources.name(file.file)},
                         {"kind", name_of(file.kind)},
                         {"used", file.is_read},
                         {"trouble", trouble.empty() ? json(nullptr) : json(trouble)}});
    }
    return files;
}

json finding_json(const Facts& facts, const Finding& finding) {
    auto evidence = json::array();
    for (const auto& one : finding.evidence) {
        evidence.push_back({{"file", facts.sources.name(one.file)},
                            {"line", one.line == 0 ? json(nullptr) : json(one.line)},
                            {"text", one.text}});
    }
    return {{"id", finding.rule->id},
            {"looks_for", finding.rule->looks_for},
            {"role", name_of(finding.role)},
            {"confidence", name_of(finding.confidence)},
            {"consequence_of",
             finding.consequence_of.empty() ? json(nullptr) : json(finding.consequence_of)},
            {"what", finding.what},
            {"why", finding.rule->why},
            {"evidence", std::move(evidence)},
            {"fix", finding.fix},
            {"step_share", or_null(finding.step_share)},
            {"expected", finding.expected}};
}

json unknown_json(const Finding& finding) {
    auto missing = json::array();
    for (const auto input : finding.missing) {
        missing.push_back(name_of(input));
    }
    return {{"id", finding.rule->id},
            {"looks_for", finding.rule->looks_for},
            {"missing", std::move(missing)}};
}

json waterfall_json(const std::optional<diagnose::Waterfall>& fall) {
    if (!fall) {
        return nullptr;
    }
    auto bars = json::array();
    for (const auto& bar : fall->bars) {
        bars.push_back({{"what", bar.what}, {"share", rounded(bar.share)}, {"from", bar.from}});
    }
    return {{"mfu", rounded(fall->mfu)},
            {"mfu_of_all", rounded(fall->mfu_of_all)},
            {"convention", fall->convention},
            {"scaled", fall->is_scaled},
            {"bars", std::move(bars)}};
}

json comparison_json(const DiagnosisReport& report) {
    if (!report.comparison) {
        return nullptr;
    }
    const auto& about = *report.comparison;
    auto parts = json::array();
    for (const auto& part : about.parts) {
        parts.push_back({{"what", part.what},
                         {"before", rounded(part.before)},
                         {"now", rounded(part.now)},
                         {"step_share", rounded(part.share)}});
    }
    auto changed = json::array();
    for (const auto& one : about.changed) {
        changed.push_back(
            {{"what", one.what}, {"before", or_null(one.before)}, {"now", or_null(one.now)}});
    }
    return {{"baseline", report.baseline},
            {"before", rounded(about.before)},
            {"now", rounded(about.now)},
            {"change", rounded(about.change())},
            {"mfu_before", or_null(about.mfu_before)},
            {"mfu_now", or_null(about.mfu_now)},
            {"size_before", or_null(about.tokens_before)},
            {"size_now", or_null(about.tokens_now)},
            {"size_unknown", about.tokens_unknown},
            {"parts", std::move(parts)},
            {"arguments", std::move(changed)}};
}

}  // namespace

json diagnosis_document(const DiagnosisReport& report) {
    auto findings = json::array();
    for (const auto* finding : report.diagnosis.with(Answer::found)) {
        findings.push_back(finding_json(*report.facts, *finding));
    }
    auto not_found = json::array();
    for (const auto* finding : report.diagnosis.with(Answer::not_found)) {
        not_found.push_back({{"id", finding->rule->id}, {"looks_for", finding->rule->looks_for}});
    }
    auto unknown = json::array();
    for (const auto* finding : report.diagnosis.with(Answer::unknown)) {
        unknown.push_back(unknown_json(*finding));
    }
    const auto* training = report.facts->main_training();
    auto inputs = json::array();
    if (training != nullptr && training->mfu) {
        for (const auto& input : training->mfu->inputs) {
            inputs.push_back({{"what", input.what}, {"value", input.value}, {"from", input.from}});
        }
    }
    return {
        {"schema", "railhead.diagnose/1"},
        {"verdict", name_of(report.diagnosis.verdict)},
        {"files", files_json(report)},
        {"findings", std::move(findings)},
        {"not_found", std::move(not_found)},
        {"unknown", std::move(unknown)},
        {"waterfall", waterfall_json(report.waterfall)},
        {"mfu_needs", training != nullptr ? json(training->mfu_needs) : json::array()},
        {"mfu_inputs", std::move(inputs)},
        {"comparison", comparison_json(report)}};
}

std::string diagnosis_json(const DiagnosisReport& report) {
    return document_text(diagnosis_document(report));
}

}  // namespace railhead::report
