#include "training/achieved.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::training {

namespace {

constexpr std::string_view sequence_input = "sequence, tokens";

std::string number_text(double value) {
    return value >= 1e7 ? fmt::format("{:.4g}", value) : fmt::format("{:.7g}", value);
}

constexpr std::string_view of_log = "the log";

std::string at_line(std::uint64_t line, std::string_view source = of_log) {
    return source == of_log ? fmt::format("line {} of {}", line, source)
                            : fmt::format("{}:{}", source, line);
}

/// Puts a figure of the log where none was typed.
void take(MfuQuestion& question, std::optional<double>& to, double value, std::string what,
          std::string from) {
    if (!to) {
        to = value;
        question.inputs.push_back({std::move(what), number_text(value), std::move(from)});
    }
}

std::uint64_t whole(const Fact* fact) {
    return fact != nullptr && fact->value >= 0 && fact->value < 1e15
               ? static_cast<std::uint64_t>(std::llround(fact->value))
               : 0;
}

/// The shape that Megatron's arguments, or those of a configuration, say.
void add_shape(MfuQuestion& question, const Run& run, std::string_view source) {
    auto& shape = question.shape;
    const auto* const layers = run.fact(Topic::layers);
    const auto* const hidden = run.fact(Topic::hidden);
    if (layers == nullptr || hidden == nullptr) {
        if (const auto* parameters = run.fact(Topic::parameters)) {
            shape.parameters = parameters->value;
            question.shape_from = at_line(parameters->line, source);
            question.inputs.push_back(
                {"parameters", number_text(parameters->value), question.shape_from});
        }
        return;
    }
    question.shape_from = at_line(layers->line, source);
    shape.layers = whole(layers);
    shape.hidden = whole(hidden);
    shape.heads = whole(run.fact(Topic::heads));
    shape.key_value_heads = whole(run.fact(Topic::key_value_heads));
    shape.ffn = whole(run.fact(Topic::ffn));
    shape.vocabulary = whole(run.fact(Topic::vocabulary));
    shape.mlp = whole(run.fact(Topic::gated)) == 1 ? Mlp::gated : Mlp::plain;
    shape.tied = run.fact(Topic::tied) == nullptr || whole(run.fact(Topic::tied)) == 1;
    if (shape.ffn == 0) {
        shape.ffn = 4 * shape.hidden;
        question.assumptions.push_back(
            "The MLP is four times as wide as a layer: Megatron's default, the log has no other.");
    }
    if (const auto experts = whole(run.fact(Topic::experts)); experts > 0) {
        shape.experts = Experts{experts, whole(run.fact(Topic::active_experts)), 0,
                                whole(run.fact(Topic::expert_ffn)), 0};
        if (shape.experts->ffn == 0) {
            shape.experts->ffn = shape.ffn;
        }
    }
    if (const auto* parameters = run.fact(Topic::parameters);
        parameters != nullptr && shape.vocabulary == 0) {
        shape.parameters = parameters->value;
    }
    question.inputs.push_back(
        {"model", fmt::format("{} layers of {}, {} heads", shape.layers, shape.hidden, shape.heads),
         question.shape_from});
}

void add_speed(MfuQuestion& question, const Run& run, const LogSummary& summary) {
    const auto from = fmt::format("median of {} of the log", count_of(summary.timed, "line"));
    const bool typed = question.tokens_per_s || question.tokens_per_s_gpu || question.step_s;
    if (typed || summary.time.median <= 0) {
        return;
    }
    switch (summary.measure) {
        case Measure::step_s:
            take(question, question.step_s, summary.time.median, "step time, s", from);
            break;
        case Measure::seconds_a_token_gpu:
            take(question, question.tokens_per_s_gpu, 1 / summary.time.median, "tokens/s a GPU",
                 from);
            break;
        case Measure::seconds_a_sample:
            take(question, question.samples_per_s, 1 / summary.time.median, "samples/s", from);
            break;
        case Measure::none:
            break;
    }
    // Where a line has both, tokens/s need neither batch nor sequence.
    if (question.step_s && !batch_of(run) && run.last && run.last->tokens_per_s_gpu) {
        take(question, question.tokens_per_s_gpu, *run.last->tokens_per_s_gpu, "tokens/s a GPU",
             at_line(run.last->line));
    }
}

void add_settings(MfuQuestion& question, const Run& run, std::string_view source) {
    const auto is_on = [&](Topic topic) { return whole(run.fact(topic)) == 1; };
    if (!question.recompute) {
        for (const auto& [topic, recompute] :
             {std::pair{Topic::full_recompute, Recompute::full},
              std::pair{Topic::selective_recompute, Recompute::selective}}) {
            if (is_on(topic) && !question.recompute) {
                question.recompute = recompute;
                question.inputs.push_back({"recomputation", std::string{to_string(recompute)},
                                           at_line(run.fact(topic)->line, source)});
            }
        }
    }
    if (!question.precision) {
        for (const auto& [topic, precision] :
             {std::pair{Topic::fp8, Precision::fp8}, std::pair{Topic::bf16, Precision::bf16},
              std::pair{Topic::fp16, Precision::fp16}}) {
            if (is_on(topic) && !question.precision) {
                question.precision = precision;
                question.inputs.push_back({"precision", std::string{to_string(precision)},
                                           at_line(run.fact(topic)->line, source)});
            }
        }
    }
}

/// Tokens/s of `Rate::gpus`.
std::optional<double> tokens_of(const MfuQuestion& question) {
    const auto sequence = static_cast<double>(question.shape.sequence);
    if (question.tokens_per_s) {
        return question.tokens_per_s;
    }
    if (question.tokens_per_s_gpu) {
        return *question.tokens_per_s_gpu * question.gpus.value_or(1);
    }
    if (question.step_s && question.batch && sequence > 0) {
        return *question.batch * sequence / *question.step_s;
    }
    if (question.samples_per_s && sequence > 0) {
        return *question.samples_per_s * sequence;
    }
    return std::nullopt;
}

/// Where the length of a sequence is from, unless it was told.
void add_sequence(const MfuQuestion& question, std::vector<Input>& inputs) {
    if (question.shape.sequence > 0 &&
        std::ranges::find(inputs, sequence_input, &Input::what) == inputs.end()) {
        inputs.push_back({std::string{sequence_input}, fmt::format("{}", question.shape.sequence),
                          question.sequence_typed ? "--sequence" : "the model's own"});
    }
}

bool has_sizes(const Shape& shape) {
    return shape.layers > 0 && shape.hidden > 0;
}

/// The precision of most runs, as far as the accelerator has it.
Precision usual_precision(const Accelerator& accelerator) {
    return accelerator.bf16_tflops ? Precision::bf16 : Precision::fp16;
}

Result<Utilization> by_usual_convention(const MfuQuestion& question, const Rate& rate,
                                        std::vector<std::string>& assumptions) {
    auto first = utilization(question.shape, rate, conventions().front());
    if (first || !question.shape.parameters) {
        return first;
    }
    const auto simple = find_convention("6nd");
    if (!simple) {
        return tl::unexpected{simple.error()};
    }
    assumptions.push_back(
        "6 N FLOPs a token, without attention: of the model only the parameters are known.");
    return utilization(question.shape, rate, **simple);
}

}  // namespace

void add_facts(MfuQuestion& question, const Run& run, std::string_view source) {
    if (question.shape_from.empty()) {
        add_shape(question, run, source);
    }
    const bool has_sequence =
        question.sequence_typed ||
        std::ranges::find(question.inputs, sequence_input, &Input::what) != question.inputs.end();
    if (const auto sequence = sequence_of(run); sequence && !has_sequence) {
        question.shape.sequence = static_cast<std::uint64_t>(std::llround(sequence->value));
        question.inputs.push_back(
            {std::string{sequence_input}, number_text(sequence->value),
             fmt::format("{}, {}", at_line(sequence->line, source), sequence->how)});
    }
    if (const auto batch = batch_of(run)) {
        take(question, question.batch, batch->value, "batch, sequences",
             fmt::format("{}, {}", at_line(batch->line, source), batch->how));
    }
    if (const auto* size = run.fact(Topic::world_size)) {
        take(question, question.gpus, size->value, "GPUs", at_line(size->line, source));
    }
    add_settings(question, run, source);
}

void add_log(MfuQuestion& question, const TrainingLog& log, const LogSummary& summary) {
    const auto& run = log.runs[summary.run];
    add_facts(question, run, of_log);
    add_speed(question, run, summary);
    question.printed_tflops = summary.tflops;
    question.printed_mfu = summary.mfu_printed;
}

const Utilization& counted_as(const PublishedMfu& published, const MfuAnswer& answer) {
    return counted_as(published.convention, answer.utilization, answer.others);
}

std::vector<std::string> missing_of(const MfuQuestion& question) {
    std::vector<std::string> missing;
    const auto& shape = question.shape;
    if (question.shape_from.empty()) {
        missing.emplace_back("the model: --model NAME, --hf-config FILE or its sizes");
    }
    if (question.accelerator == nullptr) {
        missing.emplace_back("the GPU: --accelerator NAME");
    }
    const bool speed = question.tokens_per_s || question.tokens_per_s_gpu || question.step_s ||
                       question.samples_per_s;
    if (!speed) {
        missing.emplace_back(
            "the speed: --tokens-per-s N, --step-time TIME with --batch N, or a log");
    }
    if (!question.gpus && !question.tokens_per_s_gpu) {
        missing.emplace_back("how many GPUs: --gpus N");
    }
    if (speed && !tokens_of(question)) {
        if (question.step_s && !question.batch) {
            missing.emplace_back("the batch: --batch N, in sequences");
        }
        if (shape.sequence == 0) {
            missing.emplace_back("the length of a sequence: --sequence N, in tokens");
        }
    } else if (has_sizes(shape) && shape.sequence == 0) {
        missing.emplace_back("the length of a sequence: --sequence N, in tokens");
    }
    return missing;
}

Result<MfuAnswer> answer(const MfuQuestion& question) {
    if (const auto missing = missing_of(question); !missing.empty()) {
        return fail(Errc::bad_input, "not known: " + fmt::format("{}", fmt::join(missing, "; ")));
    }
    MfuAnswer result;
    result.inputs = question.inputs;
    result.assumptions = question.assumptions;
    result.accelerator = question.accelerator;
    result.shape = question.shape;
    const auto& accelerator = *question.accelerator;
    add_sequence(question, result.inputs);
    if (!question.precision) {
        result.precision = usual_precision(accelerator);
        result.assumptions.push_back(
            fmt::format("Matrices are {}: --precision says another.", to_string(result.precision)));
    } else {
        result.precision = *question.precision;
    }
    const auto peak = accelerator.peak_tflops(result.precision);
    if (!peak) {
        return fail(Errc::bad_input, fmt::format("no {} peak of {} is known",
                                                 to_string(result.precision), accelerator.name));
    }
    result.recompute_told = question.recompute.has_value();
    if (!question.recompute) {
        result.assumptions.emplace_back(
            "Nothing is recomputed in the backward pass: --recompute says otherwise.");
    }
    result.rate = {tokens_of(question).value_or(0), question.gpus.value_or(1), *peak,
                   question.recompute.value_or(Recompute::none)};
    auto reached = question.convention != nullptr
                       ? utilization(question.shape, result.rate, *question.convention)
                       : by_usual_convention(question, result.rate, result.assumptions);
    if (!reached) {
        return propagate(reached);
    }
    result.utilization = *reached;
    for (const auto& convention : conventions()) {
        if (convention.name == reached->convention->name) {
            continue;
        }
        if (const auto other = utilization(question.shape, result.rate, convention)) {
            result.others.push_back(*other);
        }
    }
    result.judgement = judge(result.utilization, accelerator, result.precision, result.others);
    if (question.printed_tflops) {
        result.printed_share = *question.printed_tflops / *peak;
    }
    return result;
}

}  // namespace railhead::training
