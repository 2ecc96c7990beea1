// What `railhead mfu` says: how much of the peak a run reaches, by which count of FLOPs, and what
// its log says of its speed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "training/achieved.hpp"
#include "training/log_summary.hpp"

namespace railhead::report {

struct MfuReport {
    std::optional<training::MfuAnswer> answer;
    std::vector<std::string> missing;             ///< for an answer
    const training::TrainingLog* log = nullptr;   ///< null: there is none
    std::optional<training::LogSummary> summary;  ///< of the run that is looked at
};

/// Whether the run deserves a look: a value that cannot be, a level lost, a trend, a hang, losses
/// that are no numbers.  A question, a slow step and a loss that came back are told and no more.
[[nodiscard]] bool has_finding(const MfuReport& report);

/// For people, in 80 columns.
[[nodiscard]] std::string mfu_text(const MfuReport& report);

/// For programs: schema railhead.mfu/1.
[[nodiscard]] std::string mfu_json(const MfuReport& report);

/// Step times over the iterations, with levels and changes; `summary` is of log.runs[…].  An SVG
/// file for light and dark screens.
[[nodiscard]] std::string mfu_svg(const training::TrainingLog& log,
                                  const training::LogSummary& summary);

/// "3.74 s a step", "4376 tokens/s a GPU": a time in the unit of its measure.
[[nodiscard]] std::string speed_text(training::Measure measure, double time);

}  // namespace railhead::report
