// railhead postmortem: why jobs ended, what it cost, and what to do.
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ask_slurm.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "diagnose/clues.hpp"
#include "diagnose_input.hpp"
#include "job_record.hpp"
#include "own_records.hpp"
#include "quantity_reader.hpp"
#include "report/postmortem.hpp"
#include "slurm_files.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::vector<std::string> jobs, sacct, events, logs, records, evidence;
    std::optional<std::string> restart;
};

Result<diagnose::SlurmRecords> read_records(const Options& options, Console& console) {
    if (!options.sacct.empty()) {
        auto files = options.sacct;
        files.insert(files.end(), options.events.begin(), options.events.end());
        files.insert(files.end(), options.logs.begin(), options.logs.end());
        return read_slurm_files(files, console);
    }
    for (const auto& job : options.jobs) {
        if (!is_job_name(job)) {
            return fail(Errc::bad_input,
                        fmt::format("\"{}\" is no job: expected 12, 12_3 or 12+1", printable(job)));
        }
    }
    const auto clock = options.logs.empty() ? Clock::utc : Clock::machine;
    auto asked = ask_accounting(options.jobs, clock);
    if (!asked) {
        console.warn({asked.error().code,
                      "accounting does not answer, so only what slurmctld still knows is told: " +
                          asked.error().message,
                      {}});
        asked = ask_slurmctld(options.jobs, clock);
        if (!asked) {
            return propagate(asked);
        }
    }
    return read_slurm_files(options.logs, console, std::move(asked->records));
}

/// The user's own records of these jobs, and those that were named.
Result<std::vector<checkpoint::Record>> read_checkpoints(const Options& options,
                                                         const diagnose::SlurmRecords& records) {
    auto found = read_record_files(options.records);
    if (found) {
        auto own = own_records(records);
        found->insert(found->end(), std::make_move_iterator(own.begin()),
                      std::make_move_iterator(own.end()));
    }
    return found;
}

/// What the files of --evidence say of why the job ended.
std::optional<std::vector<diagnose::Clue>> read_clues(const Options& options,
                                                      const diagnose::SlurmRecords& records,
                                                      Console& console) {
    if (options.evidence.empty()) {
        return std::vector<diagnose::Clue>{};
    }
    std::vector<report::CutFile> cut;  // it is warned of
    const auto facts = read_facts(options.evidence, {}, cut, console);
    if (!facts) {
        return std::nullopt;
    }
    const auto rules = diagnose::all_rules();
    std::vector<std::int64_t> ends;
    for (const auto& attempt : records.attempts) {
        if (attempt.end_s) {
            ends.push_back(*attempt.end_s);
        }
    }
    for (const auto& file : facts->files) {
        if (!file.is_read) {
            console.warn(
                {Errc::bad_input,
                 fmt::format(
                     "\"{}\" is not used: {}", printable(facts->sources.name(file.file)),
                     file.trouble.empty() ? "railhead diagnose finds nothing in it" : file.trouble),
                 {}});
        }
    }
    return diagnose::clues_of(diagnose::diagnose(*facts, rules), *facts, options.jobs.front(),
                              ends);
}

void run(const Options& options, Console& console) {
    diagnose::PostmortemQuestion question;
    QuantityReader reader;
    reader.read("--restart", options.restart, Quantity::duration, question.restart_s);
    if (reader.error()) {
        return console.fail(*reader.error());
    }
    if (question.restart_s && !(*question.restart_s >= 0)) {
        return console.fail({Errc::bad_input,
                             fmt::format("--restart \"{}\" is negative: a restart takes 0 s or "
                                         "more",
                                         printable(*options.restart)),
                             {}});
    }
    if (!options.evidence.empty() && options.jobs.size() > 1) {
        return console.fail(
            {Errc::bad_input, "--evidence is of one job: ask for the others without it", {}});
    }
    const auto records = read_records(options, console);
    if (!records) {
        return console.fail(records.error());
    }
    auto checkpoints = read_checkpoints(options, *records);
    if (!checkpoints) {
        return console.fail(checkpoints.error());
    }
    auto clues = read_clues(options, *records, console);
    if (!clues) {
        return;
    }
    question.clues = std::move(*clues);
    question.jobs = options.jobs;
    question.checkpoints = std::move(*checkpoints);
    const auto postmortem = diagnose::make_postmortem(*records, question);
    if (!postmortem) {
        return console.fail(postmortem.error());
    }
    console.out << report::postmortem_markdown(
        *postmortem, records->has_local_times ? "as the files have them" : "UTC");
}

}  // namespace

void add_postmortem(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command =
        app.add_subcommand("postmortem", "Why jobs ended, what it cost, and what to do: Markdown");
    command->add_option("jobs", options->jobs, "12, 12_3 or 12+1")->required();
    const std::string group = "Records (default: sacct and sacctmgr are asked)";
    auto* sacct = command
                      ->add_option("--sacct", options->sacct,
                                   "What sacct --duplicates --parsable2 or --json printed, or "
                                   "scontrol show job")
                      ->group(group);
    command->add_option("--events", options->events, "What sacctmgr show event --parsable2 printed")
        ->needs(sacct)
        ->group(group);
    command->add_option("--log", options->logs, "slurmctld's log")->group(group);
    command
        ->add_option(
            "--record", options->records,
            "Checkpoint records, as railhead keeps them for jobs with --ckpt-dir (default: "
            "one's own)")
        ->group(group);
    command
        ->add_option("--evidence", options->evidence,
                     "What railhead diagnose reads: the job's output, kernel logs of its nodes")
        ->group(group);
    command->add_option("--restart", options->restart,
                        "From a start to the first new step (default: 5m)");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
