// Reading the files of a run and diagnosing them: for `railhead diagnose` and `railhead report`.
#pragma once

#include <memory>
#include <vector>

#include "command.hpp"
#include "diagnose/facts.hpp"
#include "diagnose/rules.hpp"
#include "diagnose_options.hpp"
#include "report/diagnosis.hpp"

namespace railhead::cli {

/// A diagnosis with what it points to: it stays where it is.
struct DiagnosisRun {
    diagnose::Facts facts;
    std::vector<diagnose::Rule> rules;
    report::DiagnosisReport report;
};

/// Null where a file cannot be opened or --baseline is no run to compare with: the console was
/// told.
[[nodiscard]] std::unique_ptr<DiagnosisRun> diagnose_files(const DiagnoseOptions& options,
                                                           const diagnose::Given& given,
                                                           Console& console);

/// The exit status that a verdict leaves.
void leave(diagnose::Verdict verdict, Console& console);

/// Hardware and run, as far as they are said beside the files.
void add_diagnose_options(CLI::App& command, DiagnoseOptions& options);

}  // namespace railhead::cli
