// railhead diagnose: why is a run slow, or dead, and what is to be done?
#include <memory>

#include "command.hpp"
#include "diagnose_options.hpp"
#include "report/checklist.hpp"

namespace railhead::cli {

namespace {

/// Without a file: what to look for.
void print_checklist(const DiagnoseOptions& options, const diagnose::ChecklistQuestion& question,
                     Console& console) {
    if (!options.mfu || question.gpus == 0 || question.accelerator == nullptr) {
        return console.fail({Errc::bad_input,
                             "name files to read, or say --mfu, --gpus and --accelerator for a "
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

void run(const DiagnoseOptions& options, Console& console) {
    const auto catalogue = read_catalogue(options.catalogs, console);
    if (!catalogue) {
        return;
    }
    const auto question = read_run(options, *catalogue);
    if (!question) {
        return console.fail(question.error());
    }
    print_checklist(options, *question, console);
}

void add_run_options(CLI::App& command, DiagnoseOptions& options) {
    command.add_option("--mfu", options.mfu, "Model FLOPs utilization, percent: 22");
    command.add_option("--gpus", options.gpus, "GPUs of the run")->check(CLI::PositiveNumber);
    command.add_option("--accelerator", options.accelerator, "Of railhead catalog: a100");
    command.add_option("--gpus-per-node", options.gpus_per_node, "Default: as in the usual node")
        ->check(CLI::PositiveNumber);
    command.add_option("--nic", options.nic, "Of railhead catalog: hdr (default: the usual one)");
    command.add_option("--nics", options.nics, "NICs of a node that carry GPU traffic")
        ->check(CLI::PositiveNumber);
    command.add_option("--precision", options.precision, "bf16 (default), fp16, fp8, ...");
    command.add_option("--model", options.model.name, "Of railhead catalog: llama-3-70b");
    command.add_option("--batch", options.batch, "Sequences of a step");
    command.add_option("--tp", options.tp, "Tensor parallel size")->check(CLI::PositiveNumber);
    command.add_option("--pp", options.pp, "Pipeline stages")->check(CLI::PositiveNumber);
    command.add_option("--microbatches", options.microbatches, "Of a pipeline, in a step")
        ->check(CLI::PositiveNumber);
    command.add_option("--recompute", options.recompute, "Of activations")
        ->check(CLI::IsMember({"none", "selective", "full"}));
}

}  // namespace

void add_diagnose(CLI::App& app, Console& console) {
    auto options = std::make_shared<DiagnoseOptions>();
    auto* command = app.add_subcommand("diagnose", "Why a run is slow, or dead, and what to do");
    add_run_options(*command, *options);
    add_catalog_option(*command, options->catalogs);
    add_model_options(*command, options->model);
    command->add_flag("--json", options->json, "Write JSON");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
