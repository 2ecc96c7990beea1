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

#include "accounting.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "job_record.hpp"
#include "policy/lemons.hpp"
#include "quantity_reader.hpp"
#include "report/postmortem.hpp"
#include "slurm_files.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::vector<std::string> jobs, sacct, events, logs, records;
    std::optional<std::string> restart;
};

/// Times are UTC, or those of this machine where they are to fit a log, which has no zone.
std::string_view time_format(const Options& options) {
    return options.logs.empty() ? "%s" : "standard";
}

Result<std::string> ask(const Options& options, const std::vector<std::string>& argv) {
    return ask_slurm(argv, time_format(options));
}

/// A time that ask() told, as sacctmgr takes it.
std::string asked_time(const Options& options, std::int64_t at_s) {
    if (options.logs.empty()) {
        return fmt::format("uts{}", at_s);
    }
    auto text = policy::until_text(at_s);
    text.pop_back();  // "Z": it is a time of this machine
    return text;
}

/// The nodes of all attempts, as sacctmgr takes them.
std::string nodes_of(const diagnose::SlurmRecords& records) {
    std::string list;
    for (const auto& attempt : records.attempts) {
        if (!attempt.node_list.empty() && list.find(attempt.node_list) == std::string::npos) {
            list += (list.empty() ? "" : ",") + attempt.node_list;
        }
    }
    return list;
}

/// What accounting knows of the jobs, and of their nodes since the first of them started.
Result<void> ask_accounting(const Options& options, diagnose::SlurmRecords& records) {
    std::string jobs;
    for (const auto& job : options.jobs) {
        jobs += (jobs.empty() ? "" : ",") + job;
    }
    if (auto asked = ask_sacct({"--jobs=" + jobs}, time_format(options), records); !asked) {
        return propagate(asked);
    }
    std::optional<std::int64_t> first_s;
    for (const auto& attempt : records.attempts) {
        if (attempt.start_s && (!first_s || *attempt.start_s < *first_s)) {
            first_s = attempt.start_s;
        }
    }
    if (!first_s) {
        return {};
    }
    const auto text =
        ask(options, {"sacctmgr", "--parsable2", "show", "event", "Nodes=" + nodes_of(records),
                      "Start=" + asked_time(options, *first_s)});
    if (!text) {
        return tl::unexpected{text.error()};
    }
    read_slurm_text(*text, "sacctmgr show event", records);
    return {};
}

/// What slurmctld still knows: of jobs that ended a few minutes ago, and of nodes that are out.
Result<void> ask_slurmctld(const Options& options, diagnose::SlurmRecords& records) {
    for (const auto& job : options.jobs) {
        const auto text = ask(options, {"scontrol", "show", "job", job});
        if (!text) {
            return fail(text.error().code, fmt::format("job {}: {}", job, text.error().message));
        }
        read_slurm_text(*text, "scontrol show job", records);
    }
    if (const auto nodes = nodes_of(records); !nodes.empty()) {
        if (const auto text = ask(options, {"scontrol", "show", "node", nodes})) {
            read_slurm_text(*text, "scontrol show node", records);
        }
    }
    return {};
}

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
    diagnose::SlurmRecords records;
    if (const auto asked = ask_accounting(options, records); !asked) {
        console.warn({asked.error().code,
                      "accounting does not answer, so only what slurmctld still knows is told: " +
                          asked.error().message,
                      {}});
        records = {};
        if (auto still = ask_slurmctld(options, records); !still) {
            return propagate(still);
        }
    }
    return read_slurm_files(options.logs, console, std::move(records));
}

/// The user's own records of these jobs, and those that were named.
Result<std::vector<checkpoint::Record>> read_checkpoints(const Options& options,
                                                         const diagnose::SlurmRecords& records) {
    std::vector<checkpoint::Record> found;
    for (const auto& file : options.records) {
        const auto text = read_file(file);
        auto record = text ? checkpoint::parse_record(*text)
                           : Result<checkpoint::Record>{tl::unexpected{text.error()}};
        if (!record) {
            auto error = std::move(record.error());
            error.message = fmt::format("\"{}\": {}", printable(file), error.message);
            return tl::unexpected{std::move(error)};
        }
        found.push_back(std::move(*record));
    }
    auto own = own_records(records);
    found.insert(found.end(), std::make_move_iterator(own.begin()),
                 std::make_move_iterator(own.end()));
    return found;
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
    const auto records = read_records(options, console);
    if (!records) {
        return console.fail(records.error());
    }
    auto checkpoints = read_checkpoints(options, *records);
    if (!checkpoints) {
        return console.fail(checkpoints.error());
    }
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
    command->add_option("--restart", options->restart,
                        "From a start to the first new step (default: 5m)");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
