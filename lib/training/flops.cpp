#include "training/flops.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "training/parameters.hpp"

namespace railhead::training {

namespace {

/// Forward and backward, a multiplication and an addition each.
constexpr double per_parameter = 6;

constexpr std::array all{
    Convention{"matrices", Counting::matrices, Attention::full, 1.0 / 3,
               "12 L h^2 (1 + g/n + s/h) + 18 L h f + 6 V h",
               "NVIDIA/dgxc-benchmarking v25.05; matrix by matrix, full attention"},
    Convention{"matrices-causal", Counting::matrices, Attention::causal, 1.0 / 3,
               "12 L h^2 (1 + g/n + s/2h) + 18 L h f + 6 V h",
               "NVIDIA/Megatron-LM d98e8a6 training.py; causal half of the attention"},
    Convention{"palm", Counting::parameters, Attention::full, 1.0 / 3, "6 N + 12 L h s",
               "PaLM, arXiv:2204.02311, appendix B; llm-foundry"},
    Convention{"6nd", Counting::parameters, Attention::none, 1.0 / 3, "6 N",
               "Kaplan et al., arXiv:2001.08361, section 2.1, without attention"},
    Convention{"torchtitan", Counting::but_embedding, Attention::full, 1.0 / 3,
               "6 (N - V h) + 12 L h s", "pytorch/torchtitan b5bcd76"},
    Convention{"megatron-bridge", Counting::but_embedding, Attention::causal, 1.0 / 3,
               "6 (N - V h) + 6 L h s", "NVIDIA-NeMo/Megatron-Bridge 067f987"},
    Convention{"korthikanti", Counting::matrices, Attention::full, 1.0,
               "72 L h^2 (1 + s/6h + V/12hL)",
               "Korthikanti et al., arXiv:2205.05198; selective recomputation: s/3h"},
    Convention{"sc21", Counting::matrices, Attention::full, 1.0 / 3,
               "72 L h^2 (1 + s/6h + V/12hL); recomputed: 96 L h^2 (1 + s/6h + V/16hL)",
               "Narayanan et al., SC21, arXiv:2104.04473v5, eq 3"}};

double to_double(std::uint64_t count) {
    return static_cast<double>(count);
}

/// Keys that a token sees, on average, of `sequence` with a window of `window`; 0: none.
double visible_keys(double sequence, double window, Attention attention) {
    const auto seen = window > 0 ? std::min(window, sequence) : sequence;
    switch (attention) {
        case Attention::none:
            return 0;
        case Attention::full:
            return seen;
        case Attention::causal:
            // The first tokens see fewer than a window: s/2 where it is as long as the sequence.
            return seen - seen * seen / (2 * sequence);
    }
    return 0;
}

double attention_core(const Shape& shape, Attention attention) {
    const auto sequence = to_double(shape.sequence);
    const auto keys = visible_keys(sequence, 0, attention);
    const auto windowed = visible_keys(sequence, to_double(shape.window), attention);
    const auto in_window = to_double(shape.window_layers);
    const auto in_all = to_double(shape.layers + shape.mtp_layers) - in_window;
    const auto& latent = shape.latent;
    const auto widths = latent
                            ? to_double(latent->plain_head + latent->rope_head + latent->value_head)
                            : 2 * to_double(shape.head_width());
    return per_parameter * to_double(shape.heads) * widths * (in_all * keys + in_window * windowed);
}

TokenFlops by_matrices(const Shape& shape, const Convention& convention) {
    const auto layer = layer_matrices(shape);
    const auto further = to_double(shape.mtp_layers);
    const auto plain =
        to_double(shape.experts ? shape.experts->dense_layers : shape.layers + shape.mtp_layers);
    const auto layers = to_double(shape.layers) + further;
    auto matrices = layers * layer.attention + plain * layer.mlp;
    if (shape.experts) {
        const auto through = to_double(shape.experts->active + shape.experts->shared);
        matrices += (layers - plain) * through * layer.expert;
    }
    const auto h = to_double(shape.hidden);
    matrices += further * 2 * h * h;  // joins a token's state with the next token
    return {per_parameter * matrices, attention_core(shape, convention.attention),
            per_parameter * to_double(shape.vocabulary) * h * (1 + further)};
}

/// Formulas of papers on GPT: an MLP of two matrices, 4 h wide, as many heads of keys as of
/// queries.
bool is_of_gpt(const Convention& convention) {
    return convention.formula.starts_with("72 ");
}

/// Where queries, or keys with their values, are not h wide together, or attention is latent.
std::string attention_besides(const Shape& shape, bool by_matrices) {
    if (shape.latent) {
        const auto& latent = *shape.latent;
        return fmt::format("{}attention core 6 n (d + v) s with d = {}, v = {}",
                           by_matrices ? "MLA, its projections by their ranks; " : "",
                           latent.plain_head + latent.rope_head, latent.value_head);
    }
    const auto wide = shape.heads * shape.head_width();
    return wide == shape.hidden ? std::string{}
                                : fmt::format("{} heads of {}, {} wide together, in place of h",
                                              shape.heads, shape.head_width(), wide);
}

/// "18 h f for 8 + 1 of 256 experts, f = 2048, in 58 layers".
std::string experts_besides(const Shape& shape, bool by_matrices) {
    const auto& experts = *shape.experts;
    const auto through = experts.shared == 0
                             ? fmt::format("{}", experts.active)
                             : fmt::format("{} + {} shared", experts.active, experts.shared);
    if (!by_matrices) {
        return fmt::format("N of the {} of {} experts that a token goes through", through,
                           experts.count);
    }
    const auto factor = shape.mlp == Mlp::gated ? 18 : 12;
    return fmt::format(
        "{} h f for each of {} of {} experts, f = {}, in {}{}", factor, through, experts.count,
        experts.ffn, count_of(shape.layers + shape.mtp_layers - experts.dense_layers, "layer"),
        experts.dense_layers == 0
            ? std::string{}
            : fmt::format(", {} h f with f = {} in {}", factor, shape.ffn, experts.dense_layers));
}

/// The MLP, where it is not that of the formula.
std::string mlp_besides(const Shape& shape, const Convention& convention) {
    if (!is_of_gpt(convention)) {
        return shape.mlp == Mlp::plain && shape.ffn > 0 ? "12 L h f for an MLP of two matrices"
                                                        : "";
    }
    constexpr std::uint64_t gpt = 4;
    const bool is_gpt = shape.mlp == Mlp::plain && shape.ffn == gpt * shape.hidden &&
                        shape.kv_heads() == shape.heads && !shape.latent && !shape.experts;
    return is_gpt ? "" : "the layers matrix by matrix, in place of a GPT's 72 L h^2";
}

}  // namespace

std::string counted_besides(const Shape& shape, const Convention& convention) {
    const bool by_matrices = convention.counting == Counting::matrices;
    std::vector<std::string> parts;
    const auto add = [&parts](std::string part) {
        if (!part.empty()) {
            parts.push_back(std::move(part));
        }
    };
    if (by_matrices) {
        add(mlp_besides(shape, convention));
    }
    if (shape.experts) {
        add(experts_besides(shape, by_matrices));
    }
    if (by_matrices || convention.attention != Attention::none) {
        add(attention_besides(shape, by_matrices));
    }
    if (shape.window_layers > 0 && convention.attention != Attention::none) {
        add(fmt::format("s at most {} in {}", shape.window,
                        count_of(shape.window_layers, "layer")));
    }
    if (shape.mtp_layers > 0) {
        const auto more = count_of(shape.mtp_layers, "layer");
        add(by_matrices
                ? fmt::format("{} more for further tokens, with 12 h^2 and 6 V h of its own", more)
                : fmt::format("{} more for further tokens is not in N", more));
    }
    if (convention.counting == Counting::but_embedding && shape.tied) {
        add("V h stays in N: it is the output matrix too");
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string_view to_string(Recompute recompute) {
    constexpr std::array<std::string_view, 3> names{"none", "selective", "full"};
    return names[static_cast<std::size_t>(recompute)];
}

std::span<const Convention> conventions() {
    return all;
}

Result<const Convention*> find_convention(std::string_view name) {
    std::vector<std::string_view> names;
    for (const auto& convention : all) {
        if (equals_ignoring_case(convention.name, name)) {
            return &convention;
        }
        names.push_back(convention.name);
    }
    const auto near = nearest_name(name, names);
    return fail(Errc::not_found,
                near ? fmt::format("no convention is named \"{}\", did you mean \"{}\"?",
                                   printable(name), *near)
                     : fmt::format("no convention is named \"{}\": {}", printable(name),
                                   fmt::join(names, ", ")));
}

Result<TokenFlops> flops_per_token(const Shape& shape, const Convention& convention) {
    const bool by_count = convention.counting == Counting::parameters;
    if (by_count && convention.attention == Attention::none && shape.parameters) {
        return TokenFlops{per_parameter * *shape.parameters, 0, 0};
    }
    if (auto right = check_shape(shape); !right) {
        return propagate(right);
    }
    if (convention.attention != Attention::none && shape.sequence == 0) {
        return fail(Errc::bad_input, fmt::format("the convention \"{}\" counts attention: say the "
                                                 "sequence length",
                                                 convention.name));
    }
    if (convention.counting == Counting::matrices) {
        return by_matrices(shape, convention);
    }
    const auto embedding = to_double(shape.vocabulary) * to_double(shape.hidden);
    const auto left_out = by_count || shape.tied ? 0 : embedding;
    return TokenFlops{per_parameter * (active_parameters(shape) - left_out),
                      attention_core(shape, convention.attention), 0};
}

double hardware_flops(const TokenFlops& model, const Convention& convention, Recompute recompute) {
    switch (recompute) {
        case Recompute::none:
            return model.total();
        case Recompute::selective:
            return model.total() + convention.selective * model.attention;
        case Recompute::full:
            return model.total() + (model.layers + model.attention) / 3;
    }
    return model.total();
}

}  // namespace railhead::training
