// railhead report: what railhead diagnose says, and pictures of the run, as one HTML file.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "diagnose/modelled.hpp"
#include "diagnose_options.hpp"
#include "diagnose_run.hpp"
#include "fabric/placed.hpp"
#include "job/hostlist.hpp"
#include "output_file.hpp"
#include "report/page.hpp"
#include "topology_file.hpp"

namespace railhead::cli {

namespace {

struct Options {
    DiagnoseOptions diagnose;
    std::string output, topology, topology_name, nodes, title;
};

/// The topology that was named; none is no fault.
Result<std::optional<fabric::Fabric>> read_fabric(const Options& options, Console& console) {
    if (options.topology.empty()) {
        return std::nullopt;
    }
    std::vector<Error> warnings;
    auto fabrics = read_topology(options.topology, {}, warnings);
    warn_of_topology(warnings, console);
    if (!fabrics) {
        return propagate(fabrics);
    }
    std::vector<const fabric::Fabric*> all;
    for (const auto& one : *fabrics) {
        all.push_back(&one);
    }
    const auto which = find_topology(all, options.topology_name);
    if (!which) {
        return tl::unexpected{which.error()};
    }
    auto& found = (*fabrics)[*which];
    if (!found.is_planned()) {
        return fail(Errc::unsupported,
                    fmt::format("\"{}\" is of kind {}: a tree or blocks can be drawn",
                                printable(options.topology), fabric::to_string(found.kind)));
    }
    return std::move(found);
}

/// The nodes of the job: as said, else those that NCCL's lines are from.
Result<std::vector<std::string>> nodes_of_job(const Options& options,
                                              const diagnose::Facts& facts) {
    if (options.nodes.empty()) {
        return report::hosts_of(facts);
    }
    auto nodes = job::expand_hostlist(options.nodes);
    if (!nodes) {
        auto error = std::move(nodes.error());
        error.message = "--nodes: " + error.message;
        return tl::unexpected{std::move(error)};
    }
    return nodes;
}

std::string title_of(const Options& options) {
    if (!options.title.empty()) {
        return options.title;
    }
    const auto& files = options.diagnose.files;
    const std::string first = files.front() == "-" ? std::string{"standard input"} : files.front();
    return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

std::vector<report::ModelledTable> model_tables(const diagnose::Facts& facts) {
    std::vector<report::ModelledTable> tables;
    for (const auto& one : facts.bandwidth) {
        tables.push_back({&one, diagnose::model_of(one, facts.hardware)});
    }
    return tables;
}

Result<void> write_page(const Options& options, const DiagnosisRun& run, Console& console) {
    const auto fabric = read_fabric(options, console);
    if (!fabric) {
        return tl::unexpected{fabric.error()};
    }
    const auto nodes = nodes_of_job(options, run.facts);
    if (!nodes) {
        return tl::unexpected{nodes.error()};
    }
    report::Page page;
    page.report = &run.report;
    page.tables = model_tables(run.facts);
    page.placed = fabric::place_nodes(*fabric ? &**fabric : nullptr, *nodes);
    page.topology = options.topology;
    page.title = title_of(options);
    page.made_by = "railhead " RAILHEAD_VERSION;
    const auto html = report::page_html(page);
    if (options.output == "-") {
        console.out << html;
        return {};
    }
    if (auto written = write_file(options.output, html); !written) {
        return written;
    }
    console.out << fmt::format(
        "{}: {} kB, {}, {}\n", printable(options.output), (html.size() + 999) / 1000,
        name_of(run.report.diagnosis.verdict),
        count_of(run.report.diagnosis.with(diagnose::Answer::found).size(), "finding"));
    return {};
}

void run(const Options& options, Console& console) {
    if (!report::has_pages()) {
        return console.fail(
            {Errc::unsupported,
             "this railhead was built without pages (RAILHEAD_REPORT=OFF): railhead "
             "diagnose says the same as text",
             {}});
    }
    const auto catalogue = read_catalogue(options.diagnose.catalogs, console);
    if (!catalogue) {
        return;
    }
    const auto question = read_run(options.diagnose, *catalogue);
    if (!question) {
        return console.fail(question.error());
    }
    const auto given = read_given(options.diagnose, *question, *catalogue);
    if (!given) {
        return console.fail(given.error());
    }
    const auto run = diagnose_files(options.diagnose, *given, console);
    if (!run) {
        return;
    }
    if (const auto written = write_page(options, *run, console); !written) {
        return console.fail(written.error());
    }
    leave(run->report.diagnosis.verdict, console);
}

}  // namespace

void add_report(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto& diagnose = options->diagnose;
    auto* command = app.add_subcommand("report", "A diagnosis with pictures, as one HTML file");
    command
        ->add_option("files", diagnose.files,
                     "As for railhead diagnose: logs, tables and configurations of a run")
        ->required();
    command->add_option("-o,--output", options->output, "The page; - is standard output")
        ->required();
    auto* topology = command->add_option("--topology", options->topology,
                                         "topology.conf or topology.yaml: where the nodes are");
    command->add_option("--topology-name", options->topology_name, "Which one of topology.yaml")
        ->needs(topology);
    command->add_option("--nodes", options->nodes,
                        "Of the job (default: those that NCCL's lines are from)");
    command->add_option("--title", options->title, "Default: the first file");
    command->add_option("--baseline", diagnose.baseline, "Log of a run that was well");
    add_diagnose_options(*command, diagnose);
    add_catalog_option(*command, diagnose.catalogs);
    add_model_options(*command, diagnose.model);
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
