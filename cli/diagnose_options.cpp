#include "diagnose_options.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "quantity_reader.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

Result<void> read_hardware(const DiagnoseOptions& options, const training::Catalogue& catalogue,
                           diagnose::ChecklistQuestion& question) {
    if (!options.accelerator.empty()) {
        auto found = training::find_accelerator(catalogue, options.accelerator);
        if (!found) {
            return propagate(found);
        }
        question.accelerator = *found;
        question.nic = diagnose::usual_nic(catalogue, **found);
        const bool bf16 = (*found)->peak_tflops(training::Precision::bf16).has_value();
        question.precision = bf16 ? training::Precision::bf16 : training::Precision::fp16;
    }
    if (!options.nic.empty()) {
        auto found = training::find_nic(catalogue, options.nic);
        if (!found) {
            return propagate(found);
        }
        question.nic = *found;
        question.nic_said = true;
    }
    return {};
}

Result<void> read_names(const DiagnoseOptions& options, diagnose::ChecklistQuestion& question) {
    if (!options.precision.empty()) {
        const auto all = training::precisions();
        const auto found = std::ranges::find_if(all, [&](auto one) {
            return equals_ignoring_case(training::to_string(one), options.precision);
        });
        if (found == all.end()) {
            return fail(Errc::bad_input, fmt::format("--precision \"{}\" is none of those that the "
                                                     "catalogue knows: bf16, fp16, fp8, ...",
                                                     printable(options.precision)));
        }
        question.precision = *found;
    }
    using training::Recompute;
    for (const auto one : {Recompute::none, Recompute::selective, Recompute::full}) {
        if (options.recompute == training::to_string(one)) {
            question.recompute = one;
        }
    }
    return {};
}

/// Sequences of a step, as said.
Result<std::optional<double>> read_batch(const DiagnoseOptions& options) {
    std::optional<double> batch;
    QuantityReader reader;
    reader.read("--batch", options.batch, Quantity::count, batch);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    constexpr double most = 1e9;
    if (batch && !(*batch >= 1 && *batch <= most)) {
        return fail(Errc::bad_input,
                    fmt::format("--batch \"{}\" is no number of sequences from 1 to {:.0f}",
                                printable(*options.batch), most));
    }
    return batch;
}

/// A layout needs all its GPUs.
Result<void> check_layout(const DiagnoseOptions& options) {
    const auto ways = options.tp.value_or(1) * options.pp.value_or(1);
    if (options.gpus && ways > *options.gpus) {
        return fail(
            Errc::bad_input,
            fmt::format("--tp {} x --pp {} needs {} GPUs, and --gpus says {}",
                        options.tp.value_or(1), options.pp.value_or(1), ways, *options.gpus));
    }
    return {};
}

/// Hidden size and, with a batch, tokens a step.
Result<void> read_sizes(const DiagnoseOptions& options, const training::Catalogue& catalogue,
                        diagnose::ChecklistQuestion& question) {
    auto said = read_batch(options);
    if (!said) {
        return propagate(said);
    }
    const auto batch = *said;
    training::Shape shape;
    if (!options.model.name.empty() || says_model(options.model)) {
        auto read = read_model(options.model, catalogue);
        if (!read) {
            return propagate(read);
        }
        shape = *read;
    }
    if (shape.hidden > 0) {
        question.hidden = static_cast<double>(shape.hidden);
    }
    if (batch && !(shape.sequence > 0)) {
        return fail(Errc::bad_input, "--batch counts sequences: say --model or --sequence too");
    }
    if (batch) {
        question.tokens_per_step = *batch * static_cast<double>(shape.sequence);
    }
    return {};
}

}  // namespace

void add_run_options(CLI::App& command, DiagnoseOptions& options, const std::string& group) {
    const CLI::Range of_node{std::uint64_t{1}, std::uint64_t{1024}};
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add("--gpus", options.gpus, "GPUs of the run")->check(some);
    add("--accelerator", options.accelerator, "Of railhead catalog: a100");
    add("--gpus-per-node", options.gpus_per_node, "Default: as in the usual node")->check(of_node);
    add("--nic", options.nic, "Of railhead catalog: hdr (default: the usual one)");
    add("--nics", options.nics, "NICs of a node that carry GPU traffic")->check(of_node);
    add("--precision", options.precision, "bf16 (default), fp16, fp8, ...");
    add("--model", options.model.name, "Of railhead catalog: llama-3-70b");
    add("--batch", options.batch, "Sequences of a step");
    add("--tp", options.tp, "Tensor parallel size")->check(some);
    add("--pp", options.pp, "Pipeline stages")->check(some);
    add("--recompute", options.recompute, "Of activations")
        ->check(CLI::IsMember({"none", "selective", "full"}));
}

Result<double> read_mfu(const std::string& text) {
    auto number = trim(text);
    if (number.ends_with('%')) {
        number = trim(number.substr(0, number.size() - 1));
    }
    double percent = 0;
    const auto* end = number.data() + number.size();
    const auto [read, error] = std::from_chars(number.data(), end, percent);
    if (error != std::errc{} || read != end || !(percent >= 1 && percent < 100)) {
        return fail(
            Errc::bad_input,
            fmt::format("--mfu \"{}\" is no percentage from 1 to 99: --mfu 22", printable(text)));
    }
    return percent / 100;
}

Result<diagnose::Given> read_given(const DiagnoseOptions& options,
                                   const diagnose::ChecklistQuestion& question,
                                   const training::Catalogue& catalogue) {
    if (options.mfu) {
        return fail(Errc::bad_input,
                    "--mfu is for a checklist without files: logs have their own MFU");
    }
    diagnose::Given given;
    given.hardware.accelerator = question.accelerator;
    given.catalogue = &catalogue;
    given.hardware.nic = question.nic_said ? question.nic : nullptr;
    given.hardware.usual_nic = question.nic;
    given.hardware.gpus = question.gpus;
    given.hardware.gpus_per_node = question.gpus_per_node;
    given.hardware.nics_per_node = question.nics_per_node;
    auto& mfu = given.mfu;
    mfu.accelerator = question.accelerator;
    mfu.recompute = question.recompute;
    if (!options.precision.empty()) {
        mfu.precision = question.precision;
    }
    if (question.gpus != 0) {
        mfu.gpus = static_cast<double>(question.gpus);
        mfu.inputs.push_back({"GPUs", fmt::format("{}", question.gpus), "--gpus"});
    }
    auto batch = read_batch(options);
    if (!batch) {
        return propagate(batch);
    }
    mfu.batch = *batch;
    if (!options.model.name.empty() || says_model(options.model)) {
        auto shape = read_model(options.model, catalogue);
        if (!shape) {
            return propagate(shape);
        }
        mfu.shape = std::move(*shape);
        const bool sized = mfu.shape.layers > 0 || mfu.shape.parameters;
        mfu.shape_from = sized ? "the command line" : "";
    }
    mfu.sequence_typed = options.model.sequence.has_value();
    return given;
}

Result<diagnose::ChecklistQuestion> read_run(const DiagnoseOptions& options,
                                             const training::Catalogue& catalogue) {
    diagnose::ChecklistQuestion question;
    if (options.mfu) {
        const auto mfu = read_mfu(*options.mfu);
        if (!mfu) {
            return tl::unexpected{mfu.error()};
        }
        question.mfu = *mfu;
    }
    question.gpus = options.gpus.value_or(0);
    question.gpus_per_node = options.gpus_per_node.value_or(0);
    question.nics_per_node = options.nics.value_or(0);
    question.tensor_parallel = options.tp;
    question.pipeline_parallel = options.pp;
    question.microbatches = options.microbatches;
    for (auto read : {read_hardware(options, catalogue, question), read_names(options, question),
                      read_sizes(options, catalogue, question), check_layout(options)}) {
        if (!read) {
            return propagate(read);
        }
    }
    return question;
}

}  // namespace railhead::cli
