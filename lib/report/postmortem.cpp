#include "report/postmortem.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"

namespace railhead::report {

namespace {

using diagnose::Incident;

/// A text within a table, or a sentence: what Markdown would take for itself is escaped.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (std::string_view{"|*_<>`[]\\"}.find(c) != std::string_view::npos) {
            out += '\\';
        }
        out += c;
    }
    return out;
}

std::string list_text(const std::vector<std::string>& lines, std::string_view otherwise) {
    if (lines.empty()) {
        return fmt::format("{}\n", otherwise);
    }
    std::string text;
    for (const auto& line : lines) {
        text += fmt::format("- {}\n", plain(line));
    }
    return text;
}

std::string timeline_text(const Incident& incident) {
    std::string text = "| time | event | source |\n|---|---|---|\n";
    for (const auto& moment : incident.timeline) {
        text += fmt::format("| {} | {} | {} |\n", moment_text(moment.at_s), plain(moment.what),
                            plain(moment.source));
    }
    return text;
}

std::string cause_text(const Incident& incident) {
    const auto& cause = incident.cause;
    if (cause.is_determined) {
        return fmt::format("{}.\n", plain(cause.what));
    }
    return fmt::format("**Not determined**: {}. To find it, collect:\n\n{}", plain(cause.what),
                       list_text(cause.collect, "- nothing more is known to help"));
}

std::string impact_text(const Incident& incident) {
    const auto& impact = incident.impact;
    std::set<std::string> jobs;
    for (const auto& ending : incident.endings) {
        jobs.insert(ending.attempt->id);
    }
    auto text = fmt::format("{} lost: {}; {}.\n\n| GPU hours | | |\n|---|---|---|\n",
                            count_of(jobs.size(), "job"), fmt::join(jobs, ", "),
                            count_of(incident.endings.size(), "attempt"));
    const auto most = impact.has_upper_bounds ? "at most " : "";
    const auto row = [&](std::string_view what, double hours, std::string_view how,
                         std::string_view before) {
        const auto number = impact.with_gpus == 0 ? std::string{"not known"}
                                                  : fmt::format("{}{:.1f}", before, hours);
        text += fmt::format("| {} | {}{} | {} |\n", what,
                            impact.with_gpus > 0 && impact.without_gpus > 0 ? "known: " : "",
                            number, how);
    };
    row("**lost**", impact.lost(), "the sum of these", most);
    row("idle", impact.idle, "GPUs of a job that stood still, and of a node out of service", "");
    row("recomputed", impact.recomputed, "work since the last checkpoint", most);
    row("restart", impact.restart, "from the next start to its first new step", "");
    row("queue", impact.queue, "the job's GPUs, until it started again", "");
    for (const auto& note : impact.notes) {
        text += fmt::format("\n{}\n", plain(note));
    }
    return text;
}

std::string incident_text(const Incident& incident) {
    constexpr std::string_view unknown = "None is known while the root cause is not determined.";
    constexpr std::string_view none = "None is needed.";
    const auto otherwise = incident.cause.is_determined ? none : unknown;
    return fmt::format(
        "### Timeline\n\n{}\n### Root cause\n\n{}\n### Impact\n\n{}\n### Fix\n\n{}\n"
        "### Prevention\n\n{}",
        timeline_text(incident), cause_text(incident), impact_text(incident),
        list_text(incident.cause.fix, otherwise), list_text(incident.cause.prevention, otherwise));
}

}  // namespace

std::string postmortem_markdown(const diagnose::Postmortem& postmortem, std::string_view zone) {
    std::string text = "# Post-mortem\n";
    if (postmortem.incidents.empty()) {
        text += "\nNo attempt of these jobs failed.\n";
    }
    for (std::size_t i = 0; i < postmortem.incidents.size(); ++i) {
        const auto& incident = postmortem.incidents[i];
        std::set<std::string> jobs;
        for (const auto& ending : incident.endings) {
            jobs.insert(ending.attempt->id);
        }
        text += fmt::format("\n## Incident {}: {} {}, {}\n\n{}", i + 1,
                            jobs.size() == 1 ? "job" : "jobs", fmt::join(jobs, ", "),
                            moment_text(*incident.endings.front().attempt->end_s),
                            incident_text(incident));
    }
    for (const auto* attempt : postmortem.well) {
        text += fmt::format("\nJob {}: {}{}.\n", attempt->id, plain(attempt->state),
                            attempt->end_s ? " at " + moment_text(*attempt->end_s) : "");
    }
    return text + fmt::format("\nTimes: {}.\n", zone);
}

}  // namespace railhead::report
