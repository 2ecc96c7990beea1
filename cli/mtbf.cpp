// railhead mtbf: how often nodes failed, by Slurm's records.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "report/failures.hpp"
#include "slurm_files.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::vector<std::string> files;
    CountOptions count;
    std::uint64_t gang_nodes = 0, gang_gpus = 0, gpus_per_node = 8;
    bool json = false;
};

void run(const Options& options, Console& console) {
    auto question = read_count_options(options.count);
    if (!question) {
        return console.fail(question.error());
    }
    const auto records = read_slurm_files(options.files, console);
    if (!records) {
        return console.fail(records.error());
    }
    auto count = diagnose::count_failures(*records, std::move(*question));
    if (!count) {
        return console.fail(count.error());
    }
    const auto nodes = options.gang_gpus > 0
                           ? (options.gang_gpus + options.gpus_per_node - 1) / options.gpus_per_node
                           : options.gang_nodes;
    const auto answer = diagnose::failure_rate(std::move(*count), nodes);
    if (!answer) {
        return console.fail(answer.error());
    }
    console.out << (options.json ? report::mtbf_json(*answer, records->sources)
                                 : report::mtbf_text(*answer));
}

}  // namespace

void add_mtbf(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("mtbf", "How often nodes failed, by Slurm's own records");
    command
        ->add_option(
            "files", options->files,
            "Of sacct, sacctmgr show event, scontrol, slurmctld's log; - is standard input")
        ->required();
    add_count_options(*command, options->count);
    const std::string group = "The gang whose MTBF is told";
    auto* gang_nodes = command->add_option("--gang-nodes", options->gang_nodes, "Its nodes")
                           ->check(some)
                           ->group(group);
    command->add_option("--gang-gpus", options->gang_gpus, "Or its GPUs")
        ->check(some)
        ->excludes(gang_nodes)
        ->group(group);
    command->add_option("--gpus-per-node", options->gpus_per_node, "Default: 8")
        ->check(some)
        ->group(group);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.mtbf/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
