// railhead ckpt: how often a job should write a checkpoint, and what it loses.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "checkpoint/recommend.hpp"
#include "checkpoint/trials.hpp"
#include "ckpt_status.hpp"
#include "command.hpp"
#include "job/quantity.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "report/checkpoint.hpp"

namespace railhead::cli {

namespace {

struct Options {
    // As typed: their units are read when all options are there.
    std::optional<std::string> mtbf, rate, observed, cost, bytes, params, bytes_per_param,
        bandwidth, node_bandwidth, restart, time_limit, step, interval, memory_cost, memory_restart;
    checkpoint::Question question;
    checkpoint::TrialSetup trials;
    bool simulate = false;
    bool json = false;
    std::string svg;
};

using Parse = std::optional<double> (*)(std::string_view);

/// A kind of quantity, and how to say what it looks like.
struct Kind {
    Parse parse;
    std::string_view expected;
};

constexpr Kind duration{
    job::parse_duration_s,
    "is no time: expected a number with its unit, as 90s, 5m, 1.5h, 2d or 1:30:00"};
constexpr Kind count{job::parse_amount, "is no number: expected one as 70e9, 70B or 350M"};
constexpr Kind size{job::parse_bytes,
                    "is no size: expected a number with its unit, as 912GB or 5.29TB"};
constexpr Kind bandwidth{job::parse_bandwidth,
                         "is no bandwidth: expected GB/s, or 2TB/s, or 400Gb/s"};

/// Reads the texts of options into a question; keeps the first that is wrong.
class Reader {
 public:
    void read(std::string_view option, const std::optional<std::string>& text, const Kind& kind,
              std::optional<double>& to) {
        if (!text || error_) {
            return;
        }
        to = kind.parse(*text);
        if (!to) {
            refuse(option, *text, kind.expected);
        }
    }

    /// A number, or the name of one of `all`, which `named` then points to.
    template <class Named>
    void read_or_name(std::string_view option, const std::optional<std::string>& text,
                      std::optional<double>& to, const Named*& named, std::span<const Named> all,
                      double (*value)(const Named&)) {
        if (!text || error_) {
            return;
        }
        std::vector<std::string_view> names;
        for (const auto& one : all) {
            names.push_back(one.name);
            if (equals_ignoring_case(one.name, *text)) {
                named = &one;
                to = value(one);
                return;
            }
        }
        to = job::parse_amount(*text);
        if (!to) {
            const auto near = nearest_name(*text, names);
            refuse(option, *text,
                   near ? fmt::format("is no number: did you mean \"{}\"?", *near)
                        : fmt::format("is no number, and no name known: expected one of {}",
                                      fmt::join(names, ", ")));
        }
    }

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
    void refuse(std::string_view option, const std::string& text, std::string_view why) {
        error_ =
            Error{Errc::bad_input, fmt::format("{} \"{}\" {}", option, printable(text), why), {}};
    }
    std::optional<Error> error_;
};

Result<checkpoint::Question> read_question(const Options& options) {
    auto question = options.question;
    Reader reader;
    reader.read("--mtbf", options.mtbf, duration, question.mtbf_s);
    reader.read("--observed", options.observed, duration, question.observed_s);
    reader.read("--cost", options.cost, duration, question.cost_s);
    reader.read("--restart", options.restart, duration, question.restart_s);
    reader.read("--time-limit", options.time_limit, duration, question.time_limit_s);
    reader.read("--step", options.step, duration, question.step_s);
    reader.read("--interval", options.interval, duration, question.own_interval_s);
    reader.read("--memory-cost", options.memory_cost, duration, question.memory_cost_s);
    reader.read("--memory-restart", options.memory_restart, duration, question.memory_restart_s);
    reader.read("--bytes", options.bytes, size, question.bytes);
    reader.read("--params", options.params, count, question.params);
    reader.read("--bandwidth", options.bandwidth, bandwidth, question.bytes_per_s);
    reader.read("--node-bandwidth", options.node_bandwidth, bandwidth, question.node_bytes_per_s);
    reader.read_or_name<checkpoint::FailureRate>(
        "--rate", options.rate, question.per_1000_node_days, question.published_rate,
        checkpoint::published_rates(), [](const auto& rate) { return rate.per_1000_node_days; });
    reader.read_or_name<checkpoint::Recipe>(
        "--bytes-per-param", options.bytes_per_param, question.bytes_per_param, question.recipe,
        checkpoint::recipes(), [](const auto& recipe) { return recipe.in_checkpoint(); });
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
const CLI::Range some{std::uint64_t{1}, std::uint64_t{100'000'000}};
const CLI::Range some_or_none{std::uint64_t{0}, std::uint64_t{10'000'000}};

void add_failures(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "How often the job fails";
    command.add_option("--mtbf", options.mtbf, "Mean time between failures of the job: 24h")
        ->group(group);
    command.add_option("--nodes", question.nodes, "Nodes of the job")->check(some)->group(group);
    command.add_option("--gpus", question.gpus, "GPUs of the job")->check(some)->group(group);
    command.add_option("--gpus-per-node", question.gpus_per_node, "Default: 8")
        ->check(some)
        ->group(group);
    command
        .add_option("--rate", options.rate,
                    "Failures per 1000 node-days, or a published rate: rsc-1, llama-3, ...")
        ->group(group);
    command.add_option("--failures", question.failures, "Failures counted in --observed")
        ->check(some_or_none)
        ->group(group);
    command.add_option("--observed", options.observed, "The time they were counted in: 54d")
        ->group(group);
    command
        .add_option("--observed-nodes", question.observed_nodes,
                    "The nodes they were counted on (default: those of the job)")
        ->check(some)
        ->group(group);
    command
        .add_option("--restart", options.restart, "From a failure to the next step (default: 5m)")
        ->group(group);
}

void add_checkpoint(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "What a checkpoint costs";
    command.add_option("--cost", options.cost, "How long training stands still for one: 5m")
        ->group(group);
    command.add_option("--params,--model-params", options.params, "Parameters of the model: 70B")
        ->group(group);
    command.add_option("--bytes", options.bytes, "Size of a checkpoint: 912GB")->group(group);
    command
        .add_option("--bytes-per-param", options.bytes_per_param,
                    "A number, or a recipe: adam-mixed (default: 14), adam-fp32, ...")
        ->group(group);
    command.add_option("--bandwidth", options.bandwidth, "Writing to shared storage, in GB/s")
        ->group(group);
    command.add_option("--node-bandwidth", options.node_bandwidth, "The most of one node, in GB/s")
        ->group(group);
    command
        .add_option("--writers", question.writers,
                    "Jobs that share the bandwidth, this one among them (default: 1)")
        ->check(some)
        ->group(group);
    command.add_option("--memory-cost", options.memory_cost, "The cost of a copy in memory: 2s")
        ->group(group);
    command
        .add_option("--memory-restart", options.memory_restart,
                    "A restart from memory (default: as --restart)")
        ->group(group);
    command
        .add_option("--process-share", question.process_share,
                    "The share of failures that a copy in memory survives: 0.7")
        ->group(group);
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
    command->add_option("--interval", options->interval, "Your own interval: 4h");
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
