// railhead gate: is a cluster, or a job, as good as it is meant to be?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint/mtbf.hpp"
#include "checkpoint_options.hpp"
#include "command.hpp"
#include "diagnose/gate.hpp"
#include "diagnose_options.hpp"
#include "gate_input.hpp"
#include "job_record.hpp"
#include "model_options.hpp"
#include "own_records.hpp"
#include "policy/load_policy.hpp"
#include "quantity_reader.hpp"
#include "report/gate.hpp"
#include "slurm_files.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::vector<std::string> words, records;
    DiagnoseOptions run;  ///< without files and MFU
    CountOptions window;  ///< since and until alone
    std::optional<std::string> step_time, interval, cost, rate, restart;
    std::optional<std::uint64_t> nodes, cp, ep;
    std::string policy;
    bool offline = false, strict = false, json = false;
};

/// 12, 12_3 and 12,13 are jobs, all else is a file.
void part_words(const Options& options, GateSpan& span, std::vector<std::string>& files) {
    for (const auto& word : options.words) {
        if (!is_job_name(word)) {
            files.push_back(word);
            continue;
        }
        for (const auto job : split(word, ',')) {
            if (!job.empty()) {
                span.jobs.emplace_back(job);
            }
        }
    }
}

Result<void> read_times(const Options& options, diagnose::GateQuestion& question) {
    QuantityReader reader;
    const checkpoint::FailureRate* named = nullptr;
    reader.read("--step-time", options.step_time, Quantity::duration, question.step_s);
    reader.read("--interval", options.interval, Quantity::duration, question.interval_s);
    reader.read("--cost", options.cost, Quantity::duration, question.cost_s);
    reader.read("--restart", options.restart, Quantity::duration, question.restart_s);
    read_failure_rate(options.rate, reader, question.per_1000_node_days, named);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    for (const auto& [name, value] :
         {std::pair{"--step-time", question.step_s}, std::pair{"--interval", question.interval_s},
          std::pair{"--cost", question.cost_s}, std::pair{"--rate", question.per_1000_node_days}}) {
        if (value && !(*value > 0 && std::isfinite(*value))) {
            return fail(Errc::bad_input, fmt::format("{}: more than 0 is needed", name));
        }
    }
    if (question.restart_s && !(*question.restart_s >= 0)) {
        return fail(Errc::bad_input, "--restart is negative: a restart takes 0 s or more");
    }
    return {};
}

/// Targets and what is known of checkpoints.  Without a policy the defaults count.
Result<void> read_policy(const Options& options, diagnose::GateQuestion& question,
                         Console& console) {
    auto places = policy::default_places();
    if (!options.policy.empty()) {
        places.policy = options.policy;
    }
    const auto loaded =
        policy::load_policy(places, [](const std::string& path) { return read_file(path); });
    if (!loaded.policy) {
        for (const auto& error : loaded.errors) {
            console.warn(error);
        }
        if (!options.policy.empty()) {
            return fail(Errc::bad_input,
                        fmt::format("--policy \"{}\" cannot be read", printable(options.policy)));
        }
        return {};
    }
    question.targets = loaded.policy->gate;
    question.site = policy::settings_of(*loaded.policy, {}).checkpoint;
    for (const auto& one : question.targets.mfu_of) {
        const auto found = training::find_accelerator(*question.catalogue, one.accelerator);
        if (!found) {
            return fail(Errc::bad_input, fmt::format("{}:{}: [gate] mfu: {}", one.target.where.file,
                                                     one.target.where.line, found.error().message));
        }
    }
    return {};
}

Result<void> read_checkpoints(const Options& options, const GateInput& input,
                              diagnose::GateQuestion& question) {
    auto named = read_record_files(options.records);
    if (!named) {
        return propagate(named);
    }
    question.checkpoints = std::move(*named);
    if (options.records.empty() && !question.jobs.empty()) {
        diagnose::SlurmRecords asked;  // of a week of a cluster, few are
        for (const auto& attempt : input.records.attempts) {
            if (std::ranges::find(question.jobs, attempt.id) != question.jobs.end()) {
                asked.attempts.push_back(attempt);
            }
        }
        question.checkpoints = own_records(asked);
    }
    return {};
}

void print(const Options& options, const GateSpan& span, const diagnose::Gate& gate,
           Console& console) {
    const report::GateSubject subject{span.jobs, span.since_s, span.until_s};
    console.out << (options.json ? report::gate_json(subject, gate)
                                 : report::gate_text(subject, gate));
    using diagnose::GateVerdict;
    if (gate.count(GateVerdict::fail) > 0 ||
        (options.strict && gate.count(GateVerdict::unknown) > 0)) {
        console.leave(Exit::findings);
    }
}

/// What was typed.
Result<diagnose::Given> read_question(const Options& options, const training::Catalogue& catalogue,
                                      diagnose::GateQuestion& question) {
    question.catalogue = &catalogue;
    const auto about = read_run(options.run, catalogue);
    if (!about) {
        return tl::unexpected{about.error()};
    }
    auto given = read_given(options.run, *about, catalogue);
    if (!given) {
        return given;
    }
    question.shape = given->mfu.shape;
    question.layout = {options.run.tp, options.run.pp, options.cp, options.ep};
    question.nodes = options.nodes;
    if (auto read = read_times(options, question); !read) {
        return propagate(read);
    }
    return given;
}

void run(const Options& options, Console& console) {
    const auto catalogue = read_catalogue(options.run.catalogs, console);
    if (!catalogue) {
        return;
    }
    diagnose::GateQuestion question;
    const auto given = read_question(options, *catalogue, question);
    if (!given) {
        return console.fail(given.error());
    }
    const auto window = read_count_options(options.window);
    if (!window) {
        return console.fail(window.error());
    }
    if (const auto read = read_policy(options, question, console); !read) {
        return console.fail(read.error());
    }
    GateSpan span{{}, window->since_s, window->until_s};
    std::vector<std::string> files;
    part_words(options, span, files);
    auto input = read_gate_files(files, *given, console);
    if (!input) {
        return;
    }
    if (!options.offline) {
        if (const auto asked = ask_for_gate(*input, span, console); !asked) {
            return console.fail(asked.error());
        }
    }
    question.jobs = span.jobs;
    if (const auto read = read_checkpoints(options, *input, question); !read) {
        return console.fail(read.error());
    }
    question.facts = &input->facts;
    question.records = &input->records;
    question.settings = input->settings ? &*input->settings : nullptr;
    question.since_s = span.since_s;
    question.until_s = span.until_s;
    question.records_from = input->records_from;
    question.hidden_jobs = input->hidden_jobs;
    print(options, span, diagnose::pass_gate(question), console);
}

void add_log_options(CLI::App& command, Options& options) {
    const std::string group = "The training run, as far as its log does not tell";
    add_run_options(command, options.run, group);
    command.add_option("--step-time", options.step_time, "4.2s")->group(group);
    command.add_option("--cp", options.cp, "Context parallel size")->check(some)->group(group);
    command.add_option("--ep", options.ep, "Expert parallel size")->check(some)->group(group);
}

void add_failure_options(CLI::App& command, Options& options) {
    const std::string group = "Checkpoints and failures";
    const auto text = [&](const char* name, auto& to, const char* help) {
        command.add_option(name, to, help)->group(group);
    };
    text("--interval", options.interval, "Between two checkpoints: 1h");
    text("--cost", options.cost, "Training stands still for one so long: 40s");
    text("--rate", options.rate, "Failures per 1000 node-days, or a published rate: rsc-1, ...");
    text("--restart", options.restart, "From a start to the first new step (default: 5m)");
    command.add_option("--nodes", options.nodes, "Of the job")->check(some)->group(group);
    text("--record", options.records, "Checkpoint records of the job (default: one's own)");
}

}  // namespace

void add_gate(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand(
        "gate", "Is a cluster, or a job, as good as it is meant to be: MFU first");
    command->add_option("words", options->words,
                        "Jobs (12, 12_3), and files: logs, tables of nccl-tests, traces, output "
                        "of sacct, sacctmgr show event, scontrol show config or node, sdiag");
    command->add_flag("--offline", options->offline, "Ask nothing of Slurm: files alone");
    command->add_flag("--strict", options->strict, "What is unknown counts as failed");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.gate/1");
    command->add_option("--policy", options->policy,
                        "Targets (default: [gate] of railhead.toml beside slurm.conf)");
    command->add_option("--since", options->window.since,
                        "Of the records: from this time on (default: the last 7 days, or the "
                        "time of the jobs)");
    command->add_option("--until", options->window.until, "Until this time (default: now)");
    add_log_options(*command, *options);
    add_failure_options(*command, *options);
    add_catalog_option(*command, options->run.catalogs);
    add_model_options(*command, options->run.model);
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
