// railhead diagnose: why is a run slow, or dead, and what is to be done?
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "diagnose/intake.hpp"
#include "diagnose_input.hpp"
#include "diagnose_options.hpp"
#include "diagnose_run.hpp"
#include "report/checklist.hpp"
#include "report/diagnosis.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

/// Without a file: what to look for.
void print_checklist(const DiagnoseOptions& options, const diagnose::ChecklistQuestion& question,
                     Console& console) {
    if (!options.baseline.empty()) {
        return console.fail(
            {Errc::bad_input,
             "--baseline compares with the log of another run: name that of the run "
             "at hand, too",
             {}});
    }
    if (!options.mfu || question.gpus == 0 || question.accelerator == nullptr) {
        return console.fail(
            {Errc::bad_input,
             "name files to read or a job, or say --mfu, --gpus and --accelerator for a "
             "checklist",
             {}});
    }
    const auto list = diagnose::make_checklist(question);
    if (!list) {
        return console.fail(list.error());
    }
    console.out << (options.json ? report::checklist_json(question, *list)
                                 : report::checklist_text(question, *list));
}

/// The run before, for --baseline.
bool add_baseline(const DiagnoseOptions& options, const diagnose::Given& given,
                  report::DiagnosisReport& report, Console& console) {
    if (options.baseline.empty()) {
        return true;
    }
    std::vector<report::CutFile> cut;  // it is warned of
    const auto before = read_facts({options.baseline}, given, cut, console);
    if (!before) {
        return false;
    }
    const auto* then = before->main_training();
    const auto* now = report.facts->main_training();
    if (then == nullptr || now == nullptr) {
        console.fail({Errc::bad_input,
                      then == nullptr ? "--baseline has no line about a training step"
                                      : "no file has a line about a training step to compare with "
                                        "--baseline",
                      {}});
        return false;
    }
    auto comparison = diagnose::compare(*then, *now);
    if (!comparison) {
        console.fail(comparison.error());
        return false;
    }
    report.comparison = std::move(*comparison);
    report.baseline = options.baseline;
    return true;
}

void print_diagnosis(const DiagnoseOptions& options, const diagnose::Given& given,
                     Console& console) {
    const auto run = diagnose_files(options, given, console);
    if (!run) {
        return;
    }
    console.out << (options.json ? report::diagnosis_json(run->report)
                                 : report::diagnosis_text(run->report));
    leave(run->report.diagnosis.verdict, console);
}

void run(const DiagnoseOptions& options, Console& console) {
    const auto catalogue = read_catalogue(options.catalogs, console);
    if (!catalogue) {
        return;
    }
    const auto question = read_run(options, *catalogue);
    if (!question) {
        return console.fail(question.error());
    }
    if (options.files.empty()) {
        return print_checklist(options, *question, console);
    }
    const auto given = read_given(options, *question, *catalogue);
    if (!given) {
        return console.fail(given.error());
    }
    print_diagnosis(options, *given, console);
}

}  // namespace

std::unique_ptr<DiagnosisRun> diagnose_files(const DiagnoseOptions& options,
                                             const diagnose::Given& given, Console& console) {
    auto run = std::make_unique<DiagnosisRun>();
    auto& report = run->report;
    auto facts = read_facts(options.files, given, report.cut, console);
    if (!facts) {
        return nullptr;
    }
    run->facts = std::move(*facts);
    run->rules = diagnose::all_rules();
    report.facts = &run->facts;
    report.diagnosis = diagnose::diagnose(run->facts, run->rules);
    if (!report.cut.empty() && report.diagnosis.verdict == diagnose::Verdict::healthy) {
        report.diagnosis.verdict = diagnose::Verdict::too_little;  // what was cut was not looked at
    }
    report.waterfall = diagnose::make_waterfall(run->facts, report.diagnosis);
    return add_baseline(options, given, report, console) ? std::move(run) : nullptr;
}

void leave(diagnose::Verdict verdict, Console& console) {
    switch (verdict) {
        case diagnose::Verdict::healthy:
        case diagnose::Verdict::too_little:
            break;
        case diagnose::Verdict::cause_found:
        case diagnose::Verdict::symptom_only:
            console.leave(Exit::findings);
            break;
        case diagnose::Verdict::nothing_to_see:
            console.leave(Exit::usage);
            break;
    }
}

void add_diagnose_options(CLI::App& command, DiagnoseOptions& options) {
    command.add_option("--mfu", options.mfu, "Model FLOPs utilization, percent: 22");
    add_run_options(command, options, command.option_defaults()->get_group());
    command.add_option("--microbatches", options.microbatches, "Of a pipeline, in a step")
        ->check(some);
}

void add_diagnose(CLI::App& app, Console& console) {
    auto options = std::make_shared<DiagnoseOptions>();
    auto* command = app.add_subcommand("diagnose", "Why a run is slow, or dead, and what to do");
    command->add_option("files", options->files,
                        "Logs, tables and configurations of a run, also of gzip; - is standard "
                        "input; or the number "
                        "of a job: 12, 12_3 or 12+1");
    command->add_option("--baseline", options->baseline, "Log of a run that was well");
    add_diagnose_options(*command, *options);
    add_catalog_option(*command, options->catalogs);
    add_model_options(*command, options->model);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.diagnose/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
