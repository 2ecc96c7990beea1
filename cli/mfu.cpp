// railhead mfu: how much of the GPUs' peak a training run reaches.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "command.hpp"
#include "model_options.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "quantity_reader.hpp"
#include "report/mfu.hpp"
#include "stop_signals.hpp"
#include "text_stream.hpp"
#include "training/achieved.hpp"
#include "training/catalogue.hpp"
#include "training/log_reader.hpp"
#include "training/log_summary.hpp"

namespace railhead::cli {

namespace {

struct Options {
    std::string file, follow, accelerator, precision, attention, recompute, convention, svg;
    std::optional<std::string> tokens_per_s, step_time, batch, gpus;
    std::optional<std::uint64_t> run;
    std::vector<std::string> catalogs;
    ModelOptions model;
    bool json = false;
};

/// The one of `all` that `name` names; `what` is for the message.
template <class Range, class Name>
auto pick(const Range& all, const std::string& name, std::string_view what, Name name_of_one)
    -> Result<std::decay_t<decltype(*std::begin(all))>> {
    std::vector<std::string_view> names;
    for (const auto& one : all) {
        names.push_back(name_of_one(one));
        if (equals_ignoring_case(names.back(), name)) {
            return one;
        }
    }
    const auto near = nearest_name(name, names);
    return fail(
        Errc::bad_input,
        fmt::format("{} \"{}\" is none of {}{}", what, printable(name), fmt::join(names, ", "),
                    near ? fmt::format(": did you mean \"{}\"?", *near) : std::string{}));
}

constexpr training::Recompute recomputes[] = {
    training::Recompute::none, training::Recompute::selective, training::Recompute::full};

/// --attention names the convention that counts matrices so; another convention has its own.
Result<const training::Convention*> read_convention(const Options& options) {
    if (options.convention.empty() && options.attention.empty()) {
        return nullptr;
    }
    const bool causal = options.attention == "causal";
    if (options.convention.empty()) {
        return training::find_convention(causal ? "matrices-causal" : "matrices");
    }
    auto convention = training::find_convention(options.convention);
    if (!convention || options.attention.empty()) {
        return convention;
    }
    if ((*convention)->attention !=
        (causal ? training::Attention::causal : training::Attention::full)) {
        return fail(Errc::bad_input,
                    fmt::format("convention \"{}\" does not count {} attention: leave one of "
                                "--convention and --attention out",
                                (*convention)->name, options.attention));
    }
    return convention;
}

Result<void> read_speed(const Options& options, training::MfuQuestion& question) {
    QuantityReader reader;
    reader.read("--tokens-per-s", options.tokens_per_s, Quantity::count, question.tokens_per_s);
    reader.read("--step-time", options.step_time, Quantity::duration, question.step_s);
    reader.read("--batch", options.batch, Quantity::count, question.batch);
    reader.read("--gpus", options.gpus, Quantity::count, question.gpus);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    for (const auto& [option, count] :
         {std::pair{"--batch", question.batch}, std::pair{"--gpus", question.gpus}}) {
        if (count && *count != std::floor(*count)) {
            return fail(Errc::bad_input,
                        fmt::format("{} {:g}: a whole number is needed", option, *count));
        }
    }
    if (question.step_s && !(*question.step_s > 0)) {
        return fail(Errc::bad_input, fmt::format("--step-time {}: more than 0 is needed",
                                                 printable(*options.step_time)));
    }
    const auto note = [&](std::string_view what, const std::optional<std::string>& text,
                          std::string_view option) {
        if (text) {
            question.inputs.push_back({std::string{what}, *text, std::string{option}});
        }
    };
    note("tokens/s, all GPUs", options.tokens_per_s, "--tokens-per-s");
    note("step time", options.step_time, "--step-time");
    note("batch, sequences", options.batch, "--batch");
    note("GPUs", options.gpus, "--gpus");
    return {};
}

Result<void> read_shape(const Options& options, const training::Catalogue& catalogue,
                        training::MfuQuestion& question) {
    if (options.model.name.empty() && !says_model(options.model)) {
        return {};
    }
    auto shape = read_model(options.model, catalogue);
    if (!shape) {
        return propagate(shape);
    }
    question.shape = std::move(*shape);
    const bool named = !options.model.name.empty() || !options.model.hf_config.empty();
    const bool sizes = question.shape.layers > 0 || question.shape.parameters;
    if (named || sizes) {
        question.shape_from = named ? question.shape.source : "the command line";
        question.inputs.push_back({"model",
                                   !options.model.name.empty() ? question.shape.name
                                   : named                     ? options.model.hf_config
                                                               : std::string{"by its sizes"},
                                   question.shape_from});
    }
    question.sequence_typed = options.model.sequence.has_value();
    return {};
}

Result<training::MfuQuestion> read_question(const Options& options,
                                            const training::Catalogue& catalogue) {
    training::MfuQuestion question;
    if (auto right = read_speed(options, question); !right) {
        return propagate(right);
    }
    if (auto right = read_shape(options, catalogue, question); !right) {
        return propagate(right);
    }
    auto convention = read_convention(options);
    if (!convention) {
        return propagate(convention);
    }
    question.convention = *convention;
    if (!options.accelerator.empty()) {
        auto accelerator = training::find_accelerator(catalogue, options.accelerator);
        if (!accelerator) {
            return propagate(accelerator);
        }
        question.accelerator = *accelerator;
    }
    if (!options.precision.empty()) {
        auto precision = pick(training::precisions(), options.precision, "--precision",
                              [](auto one) { return training::to_string(one); });
        if (!precision) {
            return propagate(precision);
        }
        question.precision = *precision;
    }
    if (!options.recompute.empty()) {
        auto recompute = pick(recomputes, options.recompute, "--recompute",
                              [](auto one) { return training::to_string(one); });
        if (!recompute) {
            return propagate(recompute);
        }
        question.recompute = *recompute;
    }
    return question;
}

// -- logs --------------------------------------------------------------------------------------

std::string shown_name(const std::string& path) {
    return path == "-" ? std::string{"standard input"} : path;
}

Result<training::TrainingLog> read_whole(const std::string& path, Console& console) {
    auto stream = TextStream::open(path);
    if (!stream) {
        return propagate(stream);
    }
    training::LogReader reader{shown_name(path)};
    Progress progress{console, "railhead: reading " + printable(path)};
    while (true) {
        const auto piece = stream->read();
        if (!piece) {
            console.warn(piece.error());  // what was read until then counts
            break;
        }
        if (piece->empty()) {
            break;
        }
        reader.feed(*piece);
        if (stream->size() > 0) {
            progress.show(std::min(stream->done(), stream->size()), stream->size());
        }
    }
    reader.finish();
    return reader.log();
}

/// What the terminal shows while a log is followed.
std::string live_text(const training::TrainingLog& log, training::MfuQuestion question) {
    const auto chosen = training::choose_run(log);
    if (!chosen) {
        return "railhead: no step yet";
    }
    const auto summary = training::summarize(log, *chosen);
    auto text = fmt::format("railhead: step {}, {}",
                            summary.levels.empty() ? std::uint64_t{0} : summary.levels.back().last,
                            report::speed_text(summary.measure, summary.time.median));
    training::add_log(question, log, summary);
    if (const auto answer = training::answer(question)) {
        text += fmt::format(", MFU {:.1f} % ({})", answer->utilization.mfu * 100,
                            answer->utilization.convention->name);
    }
    return text;
}

/// Until SIGINT or SIGTERM.
Result<training::TrainingLog> follow(const std::string& path, const training::MfuQuestion& question,
                                     Console& console) {
    auto growing = GrowingText::open(path);
    if (!growing) {
        return propagate(growing);
    }
    const StopSignals signals;
    training::LogReader reader{shown_name(path)};
    Progress progress{console, ""};
    while (!StopSignals::seen()) {
        auto piece = growing->read();
        if (!piece) {
            return propagate(piece);
        }
        if (!piece->empty()) {
            reader.feed(*piece);
            continue;
        }
        if (progress.is_seen()) {
            progress.say(live_text(reader.log(), question));
        }
        constexpr std::chrono::milliseconds pause{200};
        std::this_thread::sleep_for(pause);
    }
    reader.finish();
    return reader.log();
}

/// The run that was asked for, by its number from 1, or the one that is worth looking at.
Result<std::size_t> choose(const Options& options, const training::TrainingLog& log) {
    if (!options.run) {
        const auto chosen = training::choose_run(log);
        if (!chosen) {
            return fail(Errc::bad_input,
                        fmt::format("\"{}\" has no line about a training step: railhead(1) has the "
                                    "formats that are known",
                                    printable(log.file)));
        }
        return *chosen;
    }
    const auto first = log.runs_left_out + 1;
    const auto last = log.runs_left_out + log.runs.size();
    if (*options.run < first || *options.run > last) {
        return fail(Errc::bad_input,
                    last < first ? fmt::format("\"{}\" has no run", printable(log.file))
                                 : fmt::format("no run {}: \"{}\" has runs {} to {}", *options.run,
                                               printable(log.file), first, last));
    }
    return static_cast<std::size_t>(*options.run - first);
}

void print(const Options& options, const report::MfuReport& report, Console& console) {
    if (!options.svg.empty()) {
        const auto written = write_file(options.svg, report::mfu_svg(*report.log, *report.summary));
        if (!written) {
            return console.fail(written.error());
        }
    }
    console.out << (options.json ? report::mfu_json(report) : report::mfu_text(report));
    if (report::has_finding(report)) {
        console.leave(Exit::findings);
    }
}

/// Puts the answer into the report where there is enough for one.
bool add_answer(const training::MfuQuestion& question, report::MfuReport& report,
                Console& console) {
    report.missing = training::missing_of(question);
    if (!report.missing.empty() && report.log != nullptr) {
        return true;  // the log has its own to say
    }
    auto answer = training::answer(question);
    if (!answer && report.log != nullptr) {
        report.missing.push_back("another model or GPU: " + to_string(answer.error()));
        return true;
    }
    if (!answer) {
        console.fail(answer.error());
        return false;
    }
    report.answer = std::move(*answer);
    return true;
}

void run_on_log(const Options& options, training::MfuQuestion question, Console& console) {
    const auto log = options.follow.empty() ? read_whole(options.file, console)
                                            : follow(options.follow, question, console);
    if (!log) {
        return console.fail(log.error());
    }
    const auto chosen = choose(options, *log);
    if (!chosen) {
        return console.fail(chosen.error());
    }
    report::MfuReport report;
    report.log = &*log;
    report.summary = training::summarize(*log, *chosen);
    training::add_log(question, *log, *report.summary);
    if (add_answer(question, report, console)) {
        print(options, report, console);
    }
}

void run(const Options& options, Console& console) {
    const auto catalogue = read_catalogue(options.catalogs, console);
    if (!catalogue) {
        return;
    }
    const auto question = read_question(options, *catalogue);
    if (!question) {
        return console.fail(question.error());
    }
    if (!options.file.empty() || !options.follow.empty()) {
        return run_on_log(options, *question, console);
    }
    if (!options.svg.empty()) {
        return console.fail({Errc::bad_input, "--svg draws a log: name one", {}});
    }
    if (options.run) {
        return console.fail({Errc::bad_input, "--run is a start in a log: name one", {}});
    }
    report::MfuReport report;
    if (add_answer(*question, report, console)) {
        print(options, report, console);
    }
}

void add_speed(CLI::App& command, Options& options) {
    auto* file = command.add_option("file", options.file,
                                    "Log of a training run, also of gzip; - is standard input");
    command.add_option("--follow", options.follow, "Watch a log that grows, until Ctrl-C")
        ->excludes(file);
    command
        .add_option("--run", options.run, "Of the starts in the log, from 1 (default: the last)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}));
    auto* tokens =
        command.add_option("--tokens-per-s", options.tokens_per_s, "Tokens a second, of all GPUs");
    command.add_option("--step-time", options.step_time, "Time of a step: 3.6s")->excludes(tokens);
    command.add_option("--batch", options.batch, "Sequences of a step");
    command.add_option("--gpus", options.gpus, "GPUs that train");
}

}  // namespace

void add_mfu(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("mfu", "How much of the GPUs' peak a training run reaches");
    add_speed(*command, *options);
    command->add_option("--model", options->model.name, "Of railhead catalog: llama-3-8b");
    command->add_option("--accelerator", options->accelerator, "Of railhead catalog: h100");
    command->add_option("--precision", options->precision, "bf16 (default), fp16, fp8, fp4, ...");
    command->add_option("--attention", options->attention, "What counts of it: full or causal")
        ->check(CLI::IsMember({"full", "causal"}));
    command->add_option("--recompute", options->recompute, "none (default), selective or full");
    command->add_option("--convention", options->convention,
                        "How FLOPs are counted: matrices (default), palm, 6nd, ...");
    add_catalog_option(*command, options->catalogs);
    add_model_options(*command, options->model);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.mfu/1");
    command->add_option("--svg", options->svg,
                        "Also draw the step times of the log into this file");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
