// railhead size: how many GPUs train a model in so many days.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint_options.hpp"
#include "command.hpp"
#include "model_options.hpp"
#include "plan/sizing.hpp"
#include "quantity_reader.hpp"
#include "report/size.hpp"
#include "some.hpp"
#include "training/catalogue.hpp"

namespace railhead::cli {

namespace {

struct Options {
    ModelOptions model;
    std::vector<std::string> catalogs;
    std::string accelerator, precision, nic, convention, recipe;
    std::optional<std::string> tokens, batch_tokens, mfu, goodput, tokens_per_s, rate, cost,
        storage, restart, repair, nic_rate;
    std::optional<double> days, pue, node_kw;
    std::optional<std::uint64_t> gpus, batch, tp, pp, cp, ep, microbatch, gpus_per_node,
        nics_per_node, top;
    bool layouts = false;
    bool json = false;
};

/// 4Mi is 4 x 1024 x 1024: batches are powers of two.
Result<std::optional<double>> read_batch_tokens(const std::optional<std::string>& text) {
    if (!text) {
        return std::nullopt;
    }
    const bool is_binary = text->ends_with("Mi");
    std::optional<double> tokens;
    QuantityReader reader;
    reader.read("--batch-tokens", is_binary ? text->substr(0, text->size() - 2) : *text,
                Quantity::count, tokens);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    constexpr double mebi = 1024.0 * 1024.0;
    return is_binary ? *tokens * mebi : *tokens;
}

Result<void> read_quantities(const Options& options, plan::SizeQuestion& to) {
    QuantityReader reader;
    reader.read("--tokens", options.tokens, Quantity::count, to.tokens);
    reader.read("--tokens-per-s-per-gpu", options.tokens_per_s, Quantity::count,
                to.tokens_per_s_per_gpu);
    reader.read("--mfu", options.mfu, Quantity::share, to.mfu);
    reader.read("--goodput", options.goodput, Quantity::share, to.goodput);
    reader.read("--cost", options.cost, Quantity::duration, to.checkpoint_cost_s);
    reader.read("--storage", options.storage, Quantity::bandwidth, to.storage_bytes_per_s);
    reader.read("--restart", options.restart, Quantity::duration, to.restart_s);
    reader.read("--repair", options.repair, Quantity::duration, to.repair_s);
    read_failure_rate(options.rate, reader, to.per_1000_node_days, to.published_rate);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    auto batch_tokens = read_batch_tokens(options.batch_tokens);
    if (!batch_tokens) {
        return propagate(batch_tokens);
    }
    to.batch_tokens = *batch_tokens;
    return {};
}

Result<void> read_names(const Options& options, plan::SizeQuestion& to) {
    if (!options.convention.empty()) {
        auto convention = training::find_convention(options.convention);
        if (!convention) {
            return propagate(convention);
        }
        to.convention = *convention;
    }
    if (!options.recipe.empty()) {
        to.recipe = training::find_recipe(options.recipe);
        if (to.recipe == nullptr) {
            return fail(Errc::bad_input,
                        fmt::format("--recipe \"{}\" is none that is known: adam-mixed, "
                                    "adam-mixed-fp32-grads, adam-fp32, ...",
                                    printable(options.recipe)));
        }
    }
    return {};
}

Result<plan::SizeQuestion> read_question(const Options& options,
                                         const training::Catalogue& catalogue) {
    if (options.model.name.empty() && !says_model(options.model)) {
        return fail(Errc::bad_input,
                    "which model? Give --model, a name of railhead catalog, or its sizes");
    }
    plan::SizeQuestion question;
    auto shape = read_model(options.model, catalogue);
    if (!shape) {
        return propagate(shape);
    }
    question.model = std::move(*shape);
    if (question.model.name.empty()) {
        question.model.name = "a model by its sizes";
    }
    for (const auto& read : {read_quantities, read_names}) {
        if (auto right = read(options, question); !right) {
            return propagate(right);
        }
    }
    question.days = options.days;
    question.gpus = options.gpus;
    question.batch = options.batch;
    question.tp = options.tp;
    question.pp = options.pp;
    question.cp = options.cp;
    question.ep = options.ep;
    question.microbatch = options.microbatch;
    question.pue = options.pue;
    constexpr std::uint64_t usual_top = 10;
    question.layouts = static_cast<std::size_t>(options.top.value_or(usual_top));
    return question;
}

/// BF16 unless said.
Result<training::Precision> read_precision(const std::string& name) {
    if (name.empty()) {
        return training::Precision::bf16;
    }
    for (const auto precision : training::precisions()) {
        if (equals_ignoring_case(to_string(precision), name)) {
            return precision;
        }
    }
    return fail(Errc::bad_input,
                fmt::format("--precision \"{}\" is none of fp32, tf32, bf16, fp16, fp8 and fp4",
                            printable(name)));
}

/// What was said of the machine, but the accelerator.
Result<plan::MachineQuestion> read_machine(const Options& options,
                                           const training::Catalogue& catalogue) {
    auto precision = read_precision(options.precision);
    if (!precision) {
        return propagate(precision);
    }
    plan::MachineQuestion out;
    out.precision = *precision;
    out.gpus_per_node = options.gpus_per_node;
    out.nics_per_node = options.nics_per_node;
    if (options.node_kw) {
        out.node_power_w = *options.node_kw * 1000;
    }
    QuantityReader reader;
    reader.read("--nic-rate", options.nic_rate, Quantity::nic_rate, out.nic_bytes_per_s);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    if (!options.nic.empty()) {
        auto nic = training::find_nic(catalogue, options.nic);
        if (!nic) {
            return propagate(nic);
        }
        out.nic = *nic;
    }
    return out;
}

Result<plan::SizeAnswer> size(plan::SizeQuestion question, plan::MachineQuestion machine,
                              const training::Accelerator& accelerator,
                              const training::Catalogue& catalogue) {
    machine.accelerator = &accelerator;
    auto made = plan::make_machine(machine, catalogue);
    if (!made) {
        return propagate(made);
    }
    question.machine = std::move(*made);
    return plan::size_cluster(std::move(question));
}

void compare(const Options& options, const plan::SizeQuestion& question,
             const plan::MachineQuestion& machine, const training::Catalogue& catalogue,
             Console& console) {
    std::vector<report::ComparedSize> sizes;
    for (const auto& accelerator : catalogue.accelerators) {
        report::ComparedSize one;
        one.accelerator = accelerator.name;
        auto answer = size(question, machine, accelerator, catalogue);
        if (answer) {
            one.answer = std::move(*answer);
        } else {
            one.why_not = answer.error().message;
        }
        sizes.push_back(std::move(one));
    }
    console.out << (options.json ? report::comparison_json(sizes) : report::comparison_text(sizes));
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
    const auto machine = read_machine(options, *catalogue);
    if (!machine) {
        return console.fail(machine.error());
    }
    if (options.accelerator.empty() && options.layouts) {
        return console.fail(
            {Errc::bad_input, "--layouts are of one accelerator: give --accelerator NAME", {}});
    }
    if (options.top && (options.accelerator.empty() || !(options.layouts || options.json))) {
        return console.fail({Errc::bad_input,
                             "--top says how many layouts are listed: it needs --accelerator, and "
                             "--layouts or --json",
                             {}});
    }
    if (options.accelerator.empty()) {
        return compare(options, *question, *machine, *catalogue, console);
    }
    const auto accelerator = training::find_accelerator(*catalogue, options.accelerator);
    if (!accelerator) {
        return console.fail(accelerator.error());
    }
    const auto answer = size(*question, *machine, **accelerator, *catalogue);
    if (!answer) {
        return console.fail(answer.error());
    }
    console.out << (options.json      ? report::size_json(*answer)
                    : options.layouts ? report::layouts_text(*answer)
                                      : report::size_text(*answer));
    if (!answer->with_layout) {
        console.leave(Exit::findings);
    }
}

void add_run(CLI::App& command, Options& options) {
    const std::string group = "The run";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add("--model", options.model.name, "Of railhead catalog: llama-65b");
    add("--tokens", options.tokens, "1.4T (default: the model's own, or 20 a parameter)");
    auto* days = add("--days", options.days, "Days that it may take (default: 14)");
    add("--gpus", options.gpus, "Or GPUs that there are: how many days?")
        ->check(some)
        ->excludes(days);
    auto* batch = add("--batch", options.batch, "Sequences of a step")->check(some);
    add("--batch-tokens", options.batch_tokens, "Or its tokens: 16Mi (default: 4Mi)")
        ->excludes(batch);
    add("--mfu", options.mfu, "40% or 0.4 (default: of the nearest published run)");
    add("--tokens-per-s-per-gpu", options.tokens_per_s, "In place of an MFU: 380");
    add("--convention", options.convention, "How FLOPs are counted: matrices (default), palm, ...");
    add("--recipe", options.recipe, "Bytes a parameter (default: adam-mixed-fp32-grads)");
}

void add_machine(CLI::App& command, Options& options) {
    const std::string group = "The machine";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add("--accelerator", options.accelerator, "Of railhead catalog: h100 (default: compare all)");
    add("--precision", options.precision, "bf16 (default), fp16, fp8, ...");
    add("--gpus-per-node", options.gpus_per_node, "Default: the usual node's")->check(some);
    auto* nic = add("--nic", options.nic, "Of railhead catalog: ndr");
    add("--nic-rate", options.nic_rate, "Or the rate of a NIC: 400Gb/s")->excludes(nic);
    add("--nics", options.nics_per_node, "NICs of a node")->check(some);
    add("--node-kw", options.node_kw, "Power of a node, kW")->check(CLI::Range(0.001, 10'000.0));
    add("--pue", options.pue, "Default: 1.1")->check(CLI::Range(1.0, 10.0));
}

void add_failures(CLI::App& command, Options& options) {
    const std::string group = "Failures and checkpoints";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add("--goodput", options.goodput, "90% or 0.9 of the time trains (default: by what follows)");
    add("--rate", options.rate, "Failures per 1000 node-days, or rsc-1 (default), llama-3, ...");
    auto* cost =
        add("--cost", options.cost, "How long training stands still for one (default: 40s)");
    add("--storage", options.storage, "Or what storage takes: 100GB/s")->excludes(cost);
    add("--restart", options.restart, "From a failure to the next step (default: 5m)");
    add("--repair", options.repair, "Until a failed node is back (default: 24h)");
}

void add_layout(CLI::App& command, Options& options) {
    const std::string group = "The layout, where it is not to be searched";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->check(some)->group(group);
    };
    add("--tp", options.tp, "Tensor parallelism");
    add("--pp", options.pp, "Pipeline parallelism");
    add("--cp", options.cp, "Context parallelism");
    add("--ep", options.ep, "Expert parallelism");
    add("--microbatch", options.microbatch, "Sequences of a microbatch: 1, 2, 4 or 8")
        ->check(CLI::IsMember(std::vector<std::uint64_t>{1, 2, 4, 8}));
    add("--top", options.top, "Layouts that are listed (default: 10)");
}

}  // namespace

void add_size(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("size", "How many GPUs train a model in so many days");
    add_run(*command, *options);
    add_machine(*command, *options);
    add_failures(*command, *options);
    add_layout(*command, *options);
    add_catalog_option(*command, options->catalogs);
    add_model_options(*command, options->model);
    command->add_flag("--layouts", options->layouts, "List the ranked layouts, the best explained");
    command->add_flag("--json", options->json, "Write JSON, schema railhead.size/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
