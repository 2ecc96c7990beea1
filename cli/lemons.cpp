// railhead lemons: which nodes fail more often than the rest of the fleet, by Slurm's records.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "command.hpp"
#include "diagnose/lemons.hpp"
#include "lemons_file.hpp"
#include "quantity_reader.hpp"
#include "report/lemons.hpp"
#include "slurm_files.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::vector<std::string> files;
    CountOptions count;
    std::optional<std::string> false_discovery_rate, keep;
    std::string write;
    bool is_update = false;
    bool json = false;
};

/// Fails with `bad_input` where the time is none, or not ahead.
Result<std::int64_t> read_until(const Options& options) {
    constexpr double usual_s = 30 * 86400.0;
    std::optional<double> keep_s;
    QuantityReader reader;
    reader.read("--for", options.keep, Quantity::duration, keep_s);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    constexpr double most_s = 10 * 365 * 86400.0;
    if (!(keep_s.value_or(usual_s) > 0) || keep_s.value_or(usual_s) > most_s) {
        return fail(Errc::bad_input, "--for: expected more than 0 and at most ten years");
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count() +
           static_cast<std::int64_t>(keep_s.value_or(usual_s));
}

Result<double> read_false_discovery_rate(const Options& options) {
    constexpr double usual = 0.05;
    std::optional<double> share;
    QuantityReader reader;
    reader.read("--false-discovery-rate", options.false_discovery_rate, Quantity::share, share);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    return share.value_or(usual);
}

void write(const Options& options, const diagnose::LemonAnswer& answer, std::int64_t until_s,
           Console& console) {
    const auto written =
        write_lemons_file(options.write, answer.lemons, until_s, options.is_update);
    if (!written) {
        return console.fail(written.error());
    }
    if (::geteuid() != 0) {
        console.warn({Errc::bad_input,
                      fmt::format("\"{}\" is not root's: the placement rule reads only a lemons "
                                  "file of root or SlurmUser",
                                  printable(options.write)),
                      {}});
    }
}

void run(const Options& options, Console& console) {
    auto question = read_count_options(options.count);
    const auto until_s = read_until(options);
    if (!question || !until_s) {
        return console.fail(question ? until_s.error() : question.error());
    }
    const auto share = read_false_discovery_rate(options);
    if (!share) {
        return console.fail(share.error());
    }
    const auto records = read_slurm_files(options.files, console);
    if (!records) {
        return console.fail(records.error());
    }
    const auto count = diagnose::count_failures(*records, std::move(*question));
    if (!count) {
        return console.fail(count.error());
    }
    const auto answer = diagnose::find_lemons(count->nodes, *share);
    if (!answer) {
        return console.fail(answer.error());
    }
    console.out << (options.json ? report::lemons_json(*answer, *count)
                                 : report::lemons_text(*answer, *count));
    if (!answer->lemons.empty()) {
        console.leave(Exit::findings);
    }
    if (!options.write.empty()) {
        write(options, *answer, *until_s, console);
    }
}

}  // namespace

void add_lemons(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command =
        app.add_subcommand("lemons", "Which nodes fail too often, by Slurm's own records");
    command
        ->add_option(
            "files", options->files,
            "Of sacct, sacctmgr show event, scontrol, slurmctld's log; - is standard input")
        ->required();
    add_count_options(*command, options->count);
    command->add_option("--false-discovery-rate", options->false_discovery_rate,
                        "The share of those named that may be false (default: 5%)");
    const std::string group = "The list that gangs avoid";
    auto* write = command
                      ->add_option("--write", options->write,
                                   "Write it to this file: railhead.lemons beside slurm.conf")
                      ->group(group);
    command
        ->add_flag("--update", options->is_update,
                   "Replace what an earlier --write put there, and keep what people wrote")
        ->needs(write)
        ->group(group);
    command->add_option("--for", options->keep, "How long gangs avoid them (default: 30d)")
        ->needs(write)
        ->group(group);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.lemons/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
