// railhead ckpt: how often a job should write a checkpoint, and what it loses.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "checkpoint/recommend.hpp"
#include "checkpoint/trials.hpp"
#include "checkpoint_options.hpp"
#include "ckpt_status.hpp"
#include "command.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "quantity_reader.hpp"
#include "report/checkpoint.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

struct Options {
    CheckpointOptions checkpoint;
    // As typed: their units are read when all options are there.
    std::optional<std::string> observed, bandwidth, node_bandwidth, time_limit, step, memory_cost,
        memory_restart;
    checkpoint::Question question;
    checkpoint::TrialSetup trials;
    bool simulate = false;
    bool json = false;
    std::string svg;
};

Result<checkpoint::Question> read_question(const Options& options) {
    auto question = options.question;
    QuantityReader reader;
    read_checkpoint(options.checkpoint, reader, question);
    reader.read("--observed", options.observed, Quantity::duration, question.observed_s);
    reader.read("--time-limit", options.time_limit, Quantity::duration, question.time_limit_s);
    reader.read("--step", options.step, Quantity::duration, question.step_s);
    reader.read("--memory-cost", options.memory_cost, Quantity::duration, question.memory_cost_s);
    reader.read("--memory-restart", options.memory_restart, Quantity::duration,
                question.memory_restart_s);
    reader.read("--bandwidth", options.bandwidth, Quantity::bandwidth, question.bytes_per_s);
    reader.read("--node-bandwidth", options.node_bandwidth, Quantity::bandwidth,
                question.node_bytes_per_s);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    return question;
}

Result<checkpoint::Trials> simulate(const Options& options, const checkpoint::Question& question,
                                    const checkpoint::Recommendation& recommendation,
                                    Console& console) {
    auto setup = options.trials;
    setup.chosen_s = recommendation.chosen.interval_s;
    setup.duration_s = question.time_limit_s;
    if (recommendation.own) {
        setup.own_s = recommendation.own->interval_s;
    }
    auto trials = checkpoint::Trials::make(recommendation.timing, setup);
    if (trials) {
        Progress progress{console, "railhead: simulating"};
        while (trials->step()) {
            progress.show(trials->done(), trials->runs());
        }
    }
    return trials;
}

void run(const Options& options, Console& console) {
    const auto question = read_question(options);
    if (!question) {
        return console.fail(question.error());
    }
    const auto recommendation = checkpoint::recommend(*question);
    if (!recommendation) {
        return console.fail(recommendation.error());
    }
    std::optional<checkpoint::Trials> trials;
    if (options.simulate) {
        auto simulated = simulate(options, *question, *recommendation, console);
        if (!simulated) {
            return console.fail(simulated.error());
        }
        trials = std::move(*simulated);
    }
    if (!options.svg.empty()) {
        const auto written = write_file(options.svg, report::checkpoint_svg(*recommendation));
        if (!written) {
            return console.fail(written.error());
        }
    }
    const auto* shown = trials ? &*trials : nullptr;
    console.out << (options.json ? report::checkpoint_json(*recommendation, shown)
                                 : report::checkpoint_text(*recommendation, shown));
}

/// CLI11 would read -4 as a very large number.
const CLI::Range some_or_none{std::uint64_t{0}, std::uint64_t{10'000'000}};

void add_failures(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "How often the job fails";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add_job_options(command, options.checkpoint, question, group);
    add("--failures", question.failures, "Failures counted in --observed")->check(some_or_none);
    add("--observed", options.observed, "The time they were counted in: 54d");
    add("--observed-nodes", question.observed_nodes,
        "The nodes they were counted on (default: those of the job)")
        ->check(some);
}

void add_checkpoint(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "What a checkpoint costs";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add("--cost", options.checkpoint.cost, "How long training stands still for one: 5m");
    add_size_options(command, options.checkpoint, group);
    add("--bandwidth", options.bandwidth, "Writing to shared storage, in GB/s");
    add("--node-bandwidth", options.node_bandwidth, "The most of one node, in GB/s");
    add("--writers", question.writers,
        "Jobs that share the bandwidth, this one among them (default: 1)")
        ->check(some);
    add("--memory-cost", options.memory_cost, "The cost of a copy in memory: 2s");
    add("--memory-restart", options.memory_restart,
        "A restart from memory (default: as --restart)");
    add("--process-share", options.checkpoint.process_share,
        "The share of failures that a copy in memory survives: 70%");
}

void add_simulation(CLI::App& command, Options& options) {
    const std::string group = "Simulation";
    auto* simulate = command
                         .add_flag("--simulate", options.simulate,
                                   "Simulate runs that fail by chance, to check the interval")
                         ->group(group);
    command.add_option("--runs", options.trials.runs, "Default: 2000")
        ->check(some)
        ->needs(simulate)
        ->group(group);
    command.add_option("--seed", options.trials.seed, "Default: 1")
        ->check(CLI::NonNegativeNumber)
        ->needs(simulate)
        ->group(group);
    command
        .add_option("--weibull", options.trials.shape,
                    "Shape of the gaps between failures: below 1 they come in bursts (default: 1)")
        ->needs(simulate)
        ->group(group);
}

}  // namespace

void add_ckpt(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("ckpt", "How often to write a checkpoint, and what is lost");
    add_failures(*command, *options);
    add_checkpoint(*command, *options);
    command->add_option("--time-limit", options->time_limit, "Of the job: 7d (default: a day)");
    command->add_option("--step", options->step, "Time of a training step: 3.6s");
    command->add_option("--interval", options->checkpoint.interval, "Your own interval: 4h");
    add_simulation(*command, *options);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.ckpt/1");
    command->add_option("--svg", options->svg, "Also draw the cost curve into this file");
    add_ckpt_status(*command, console);
    command->callback([options, command, &console] {
        if (command->get_subcommands().empty()) {
            run(*options, console);
        }
    });
}

}  // namespace railhead::cli
