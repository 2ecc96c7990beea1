#include "report/gate.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

using diagnose::GateCheck;
using diagnose::GateVerdict;

std::string verdict_text(GateVerdict verdict) {
    return verdict == GateVerdict::fail ? "FAIL" : std::string{name_of(verdict)};
}

std::string subject_text(const GateSubject& subject) {
    auto text = subject.jobs.empty() ? std::string{"the cluster"}
                                     : fmt::format("job{} {}", subject.jobs.size() == 1 ? "" : "s",
                                                   fmt::join(subject.jobs, ", "));
    if (subject.since_s && subject.until_s) {
        text +=
            fmt::format(", {} to {}", moment_text(*subject.since_s), moment_text(*subject.until_s));
    }
    return text;
}

std::string summary(const diagnose::Gate& gate) {
    const auto failed = gate.count(GateVerdict::fail);
    const auto unknown = gate.count(GateVerdict::unknown);
    auto text = fmt::format("{} of {} passed", gate.count(GateVerdict::pass),
                            count_of(gate.checks.size(), "check"));
    if (failed > 0) {
        text += fmt::format(", {} failed", failed);
    }
    if (unknown > 0) {
        text += fmt::format(", {} unknown", unknown);
    }
    return text;
}

std::string overview(const diagnose::Gate& gate) {
    Table table{{"Check", "Verdict", "Target", "Measured"}};
    for (const auto& check : gate.checks) {
        table.add({std::string{check.id}, verdict_text(check.verdict),
                   check.aim.text.empty() ? "-" : check.aim.text,
                   check.measured.empty() ? "-" : check.measured});
    }
    return table.text();
}

void add_all(Table& table, std::string_view label, const std::vector<std::string>& lines) {
    bool is_first = true;
    for (const auto& line : lines) {
        table.add({is_first ? std::string{label} : std::string{}, line});
        is_first = false;
    }
}

std::string details(const GateCheck& check) {
    Table table;
    if (!check.measured.empty()) {
        table.add({"measured", check.measured});
        table.add({"from", check.from});
    }
    if (!check.aim.text.empty()) {
        table.add({"target", fmt::format("{}: {}", check.aim.text, check.aim.from)});
    }
    add_all(table, "how", check.details);
    add_all(table, "missing", check.missing);
    add_all(table, "to know it", check.run);
    add_all(table, "advice", check.advice);
    return fmt::format("{} {}: {}\n{}", verdict_text(check.verdict), check.id, check.what,
                       table.text(2));
}

}  // namespace

std::string gate_text(const GateSubject& subject, const diagnose::Gate& gate) {
    std::string text;
    for (const auto& line :
         wrap(fmt::format("Gate of {}: {}.", subject_text(subject), summary(gate)), 80)) {
        text += line + "\n";
    }
    text += "\n" + overview(gate);
    for (const auto& check : gate.checks) {
        text += "\n" + details(check);
    }
    return text;
}

}  // namespace railhead::report
