#include "report/checklist.hpp"

#include <string_view>

#include <fmt/format.h>

#include "report/table.hpp"

namespace railhead::report {

namespace {

using diagnose::Checklist;
using diagnose::ChecklistQuestion;
using diagnose::Range;
using diagnose::Suspect;

constexpr std::size_t width = 80;

/// "19.5 - 66.3 %", "4.0 %"; what is 0 at least is "up to 51.0 %".
std::string share_range(Range range) {
    if (range.is_exact()) {
        return fmt::format("{:.1f} %", range.low * 100);
    }
    return range.low == 0 ? fmt::format("0 - {:.1f} %", range.high * 100)
                          : fmt::format("{:.1f} - {:.1f} %", range.low * 100, range.high * 100);
}

std::string paragraph(std::string_view name, std::string_view text) {
    Table table;
    table.add({std::string{name}, std::string{text}});
    return table.text(3, width);
}

/// A command stands in one line, however long: it is there to be copied.
std::string suspect_text(std::size_t number, const Suspect& suspect) {
    auto text = fmt::format("\n{}. {} ({})\n", number, suspect.title, suspect.id);
    Table table;
    for (std::size_t i = 0; i < suspect.look.size(); ++i) {
        table.add({i == 0 ? "Look" : "", suspect.look[i]});
    }
    if (suspect.is_known) {
        table.add({"Sure", "from what was said of the run"});
    }
    table.add({"Fix", suspect.fix});
    table.add({"Gain", fmt::format("{}. Source: {}", suspect.arithmetic, suspect.source)});
    return text + table.text(3, width);
}

std::string heading(const ChecklistQuestion& question, const Checklist& list) {
    Table table;
    table.add({"MFU", fmt::format("{:.1f} % on {} {}{}", question.mfu * 100, question.gpus,
                                  question.accelerator->name,
                                  list.nodes == 1  ? std::string{", one node"}
                                  : list.nodes > 1 ? fmt::format(", {} nodes", list.nodes)
                                                   : std::string{})});
    table.add({list.best_is_published ? "Published" : "Reachable",
               fmt::format(
                   "at most {:.1f} % in {}{} ({})", list.best * 100, to_string(question.precision),
                   list.best_convention.empty() ? std::string{}
                                                : fmt::format(", by \"{}\"", list.best_convention),
                   list.best_source)});
    if (list.lost > 0) {
        table.add({"Lost", fmt::format("{:.1f} % of each step: 1 - {:.1f} / {:.1f}",
                                       list.lost * 100, question.mfu * 100, list.best * 100)});
    }
    return table.text(0, width);
}

std::string gains_text(const Checklist& list) {
    Table table{{"", "of the step", "expected", "MFU if so", "MFU after all", "what"}};
    for (std::size_t i = 0; i < list.suspects.size(); ++i) {
        const auto& suspect = list.suspects[i];
        table.add({fmt::format("{}", i + 1), share_range(suspect.share),
                   fmt::format("{:.1f} %", suspect.expected * 100), share_range(suspect.alone),
                   share_range(suspect.after), std::string{suspect.id}});
    }
    return "\n" + table.text(0, width) +
           "\nMFU if so: after this fix alone, where it is there.  MFU after all: after this\n"
           "and those above it; its lower end counts only what is sure.\n";
}

}  // namespace

std::string checklist_text(const ChecklistQuestion& question, const Checklist& list) {
    auto text = heading(question, list);
    if (list.suspects.empty()) {
        return text + "\nNo faster run is published: there is nothing to promise.\n";
    }
    text += gains_text(list);
    for (std::size_t i = 0; i < list.suspects.size(); ++i) {
        text += suspect_text(i + 1, list.suspects[i]);
    }
    if (!list.ruled_out.empty()) {
        text += "\nRuled out\n";
        for (const auto& out : list.ruled_out) {
            text += paragraph(out.id, out.why);
        }
    }
    text += "\nAssumed\n";
    for (const auto& assumption : list.assumptions) {
        Table table;
        table.add({assumption});
        text += table.text(3, width);
    }
    text +=
        "\nOrdered by what is expected: the middle of what a fix may bring, or less by how\n"
        "often it is met where that is published.\n"
        "Logs say more: railhead diagnose train.log nccl.log\n";
    return text;
}

}  // namespace railhead::report
