// What a question of sizing may say, and what is taken for the rest.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/sizing_parts.hpp"
#include "training/parameters.hpp"

namespace railhead::plan {

namespace {

constexpr double day_s = 86400;
constexpr double chinchilla = 20;

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

void assume(SizeAnswer& out, std::string_view what, std::string value, std::string source) {
    out.assumed.push_back({what, std::move(value), std::move(source)});
}

/// N of the 6N formulas is that of the paper where it prints one: it is what others reckon with.
void fill_model(SizeAnswer& out) {
    auto& question = out.question;
    auto& model = question.model;
    out.parameters = training::count_parameters(model).total();
    if (question.convention == nullptr) {
        question.convention = &training::conventions().front();
    }
    if (question.recipe == nullptr) {
        question.recipe = training::find_recipe("adam-mixed-fp32-grads");
        assume(out, "bytes a parameter", fmt::format("{:g}", question.recipe->in_memory()),
               fmt::format("{}: {} ({})", question.recipe->name, question.recipe->what,
                           question.recipe->source));
    }
    const bool is_6n = question.convention->counting != training::Counting::matrices;
    if (is_6n && !model.parameters && model.published_parameters && !model.experts) {
        model.parameters = model.published_parameters;
        assume(out, "N of 6N", fmt::format("{:g} B", *model.parameters / 1e9), model.source);
    }
}

void fill_time(SizeAnswer& out) {
    auto& question = out.question;
    const auto& model = question.model;
    if (!question.tokens && model.tokens) {
        question.tokens = model.tokens;
        assume(out, "tokens", fmt::format("{:g} T", *model.tokens / 1e12), model.source);
    } else if (!question.tokens) {
        question.tokens = chinchilla * training::active_parameters(model);
        assume(out, "tokens", fmt::format("{:.3g} T", *question.tokens / 1e12),
               "20 a parameter: Hoffmann et al., arXiv:2203.15556");
    }
    if (!question.days && !question.gpus) {
        constexpr double fortnight = 14;
        question.days = fortnight;
        assume(out, "time", "14 days", "a guess: say --days");
    }
}

void fill_batch(SizeAnswer& out) {
    auto& question = out.question;
    const auto sequence = as_double(question.model.sequence);
    if (!question.batch) {
        constexpr double usual_tokens = 4.0 * 1024 * 1024;
        if (!question.batch_tokens) {
            assume(out, "batch", "4 Mi tokens",
                   "LLaMA, arXiv:2302.13971: 4 M; Llama 3 405B: 16 M; the more, the more GPUs "
                   "can share it");
        }
        const auto sequences = question.batch_tokens.value_or(usual_tokens) / sequence;
        question.batch = static_cast<std::uint64_t>(std::max(1.0, std::round(sequences)));
    }
    question.batch_tokens = as_double(*question.batch) * sequence;
}

void fill_failures(SizeAnswer& out) {
    auto& question = out.question;
    if (!question.checkpoint_cost_s && !question.storage_bytes_per_s) {
        constexpr double bloom_s = 40;
        question.checkpoint_cost_s = bloom_s;
        assume(out, "checkpoint cost", "40 s", "BLOOM: 2.3 TB in 40 s; bigscience chronicles");
    }
    if (!question.repair_s) {
        question.repair_s = day_s;
        assume(out, "node out", "24 h", "a guess: until a failed node is back");
    }
    if (!question.pue) {
        constexpr double llama_pue = 1.1;
        question.pue = llama_pue;
        assume(out, "PUE", "1.1", "LLaMA, arXiv:2302.13971, section 6");
    }
}

/// What no count of GPUs, and no batch, would mend.
Result<void> check_layout(const SizeQuestion& question) {
    const auto& model = question.model;
    const auto refuse = [&](std::string_view option, std::uint64_t value, const std::string& why) {
        return fail(Errc::bad_input,
                    fmt::format("--{} {}: {} has {}", option, value, printable(model.name), why));
    };
    if (question.tp && *question.tp > 0 && model.heads % *question.tp != 0) {
        return refuse("tp", *question.tp,
                      fmt::format("{}, which it does not divide", count_of(model.heads, "head")));
    }
    const auto width = model.experts ? model.experts->ffn : model.ffn;
    if (question.tp && *question.tp > 0 && width % *question.tp != 0) {
        return refuse("tp", *question.tp,
                      fmt::format("an MLP {} wide, which it does not divide", width));
    }
    if (question.tp && *question.tp > 0 && question.machine.domain % *question.tp != 0) {
        return fail(Errc::bad_input,
                    fmt::format("--tp {}: it does not divide the {} that NVLink or its like joins",
                                *question.tp, count_of(question.machine.domain, "GPU")));
    }
    if (question.pp && *question.pp > model.layers) {
        return refuse("pp", *question.pp,
                      fmt::format("{}, and each stage needs one", count_of(model.layers, "layer")));
    }
    if (question.ep && *question.ep > 1 && !model.experts) {
        return refuse("ep", *question.ep, "no experts to share out");
    }
    if (question.ep && *question.ep > 1 && model.experts->count % *question.ep != 0) {
        return refuse("ep", *question.ep,
                      fmt::format("{} a layer, which it does not divide",
                                  count_of(model.experts->count, "expert")));
    }
    return {};
}

}  // namespace

void fill_gaps(SizeAnswer& out) {
    fill_model(out);
    fill_time(out);
    fill_batch(out);
    fill_failures(out);
}

Result<void> check_question(const SizeQuestion& question) {
    if (auto right = training::check_shape(question.model); !right) {
        return right;
    }
    const std::pair<std::string_view, std::optional<double>> numbers[] = {
        {"tokens", question.tokens},
        {"days", question.days},
        {"an MFU", question.mfu},
        {"tokens a second", question.tokens_per_s_per_gpu},
        {"a batch", question.batch_tokens},
        {"a goodput", question.goodput},
        {"a checkpoint cost", question.checkpoint_cost_s},
        {"a bandwidth", question.storage_bytes_per_s},
        {"a PUE", question.pue},
        {"a rate of failures", question.per_1000_node_days},
        {"time until a node is back", question.repair_s},
        {"a sequence", as_double(question.model.sequence)}};
    for (const auto& [what, value] : numbers) {
        constexpr double most = 1e18;
        if (value && !(*value > 0 && *value <= most)) {
            return fail(Errc::bad_input,
                        fmt::format("{} of {:g}: it has to be more than 0", what, *value));
        }
    }
    constexpr double hundred = 100;
    for (const auto& [what, share] :
         {std::pair{"an MFU", question.mfu}, std::pair{"a goodput", question.goodput}}) {
        if (share && *share > 1) {
            return fail(
                Errc::bad_input,
                fmt::format("{} of {:g}: it is a share of 1{}", what, *share,
                            *share <= hundred ? fmt::format(", is {:g} % meant? Then give {:g}",
                                                            *share, *share / hundred)
                                              : std::string{}));
        }
    }
    if (question.batch == std::uint64_t{0}) {
        return fail(Errc::bad_input, "a batch of 0 sequences: it has to be more than 0");
    }
    if (question.mfu && question.tokens_per_s_per_gpu) {
        return fail(Errc::bad_input, "an MFU and tokens a second say the same: give one of them");
    }
    if (question.gpus && question.days) {
        return fail(Errc::bad_input, "days follow from GPUs, and GPUs from days: give one of them");
    }
    if (question.gpus == std::uint64_t{0}) {
        return fail(Errc::bad_input, "0 GPUs train nothing");
    }
    return check_layout(question);
}

}  // namespace railhead::plan
