#include "training/activations.hpp"

#include <algorithm>

namespace railhead::training {

namespace {

constexpr double half = 2;  // bytes of a 16-bit value
constexpr double full = 4;  // of an fp32 one

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

/// The letters of the formulas.
struct Letters {
    Letters(const Shape& shape, const Layout& layout)
        : s{as_double(layout.sequence != 0 ? layout.sequence : shape.sequence)},
          tokens{s * as_double(layout.microbatch) / as_double(layout.cp)},
          h{as_double(shape.hidden)},
          n{as_double(shape.heads)},
          d{as_double(shape.head_width())},
          t{as_double(layout.tp)},
          q{layout.sequence_parallel ? t : 1} {}
    double s, tokens, h, n, d, t, q;
};

/// What a layer keeps, and its attention core, which selective recomputation leaves out.
struct Kept {
    double core = 0;
    double rest = 0;
};

/// Scores after the softmax; K and V repeated for each head where they are grouped.
double core_bytes(const Letters& l, double kv_heads) {
    const auto repeated = half * 2 * l.tokens * l.d * std::max(0.0, l.n / l.t - kv_heads);
    return half * l.tokens * l.s * l.n / l.t + repeated;
}

/// Q, K, V and the output; with flash attention the sum of each row's softmax.
Kept grouped_attention(const Shape& shape, const Layout& layout, const Letters& l) {
    // A GPU has at least one KV head: where tp is more than there are, they are copied.
    const auto kv_heads = std::max(1.0, as_double(shape.kv_heads()) / l.t);
    Kept out;
    out.rest = half * l.tokens * l.d * (2 * l.n / l.t + 2 * kv_heads);
    if (layout.flash_attention) {
        out.rest += full * l.tokens * l.n / l.t;
    } else {
        out.core = core_bytes(l, kv_heads);
    }
    return out;
}

/// Latent attention: the compressed query, key and value before and after their norms, then each
/// head's own.
Kept latent_attention(const Latent& latent, const Layout& layout, const Letters& l) {
    const auto key = as_double(latent.rope_head + latent.plain_head);
    const auto compressed =
        2 * as_double(latent.query_rank + latent.key_value_rank) + as_double(latent.rope_head);
    Kept out;
    out.rest = half * l.tokens *
               (compressed / l.q + l.n / l.t * (2 * key + 2 * as_double(latent.value_head)));
    if (layout.flash_attention) {
        out.rest += full * l.tokens * l.n / l.t;
    } else {
        out.core = half * l.tokens * l.s * l.n / l.t;
    }
    return out;
}

/// What a token leaves in an MLP of this width: gate, up and their product; or before and after
/// GELU.
double mlp_width_bytes(const Shape& shape, double width) {
    return half * width * (shape.mlp == Mlp::gated ? 3 : 2);
}

/// Experts that are chosen evenly: each GPU works on as many (token, expert) pairs as its own
/// tokens make.  Their input is gathered over tp, the output is kept for the gradient of the
/// weights that the router gives; the router's logits and probabilities are fp32.
double expert_bytes(const Shape& shape, const Experts& experts, const Letters& l) {
    const auto pairs = l.tokens * as_double(experts.active);
    return pairs * half * l.h * (1 + 1 / l.q) +
           (pairs + l.tokens * as_double(experts.shared)) / l.t *
               mlp_width_bytes(shape, as_double(experts.ffn)) +
           2 * full * l.tokens * as_double(experts.count) / l.q;
}

double mlp_bytes(const Shape& shape, const Letters& l, std::uint64_t layer) {
    if (shape.experts && layer >= shape.experts->dense_layers) {
        return expert_bytes(shape, *shape.experts, l);
    }
    return l.tokens / l.t * mlp_width_bytes(shape, as_double(shape.ffn));
}

/// Applies the way of recomputation to what a layer would keep.
LayerActivations recomputed(const Kept& kept, const Layout& layout, const Letters& l) {
    const auto input = half * l.tokens * l.h / l.q;
    switch (layout.recompute) {
        case Recompute::none:
            return {kept.rest + kept.core, 0};
        case Recompute::selective:
            return {kept.rest, kept.core};
        case Recompute::full:
            return {input, kept.rest + kept.core - input};
    }
    return {};
}

}  // namespace

std::string_view to_string(ActivationFormula formula) {
    return formula == ActivationFormula::korthikanti ? "Korthikanti et al. 2022, eq. 1-6"
                                                     : "sum by terms (docs/memory.md)";
}

ActivationFormula formula_for(const Shape& shape) {
    constexpr std::uint64_t wide = 4;  // as GPT-2's and GPT-3's MLP
    const bool is_theirs = shape.mlp == Mlp::plain && shape.ffn == wide * shape.hidden &&
                           shape.kv_heads() == shape.heads && !shape.experts && !shape.latent;
    return is_theirs ? ActivationFormula::korthikanti : ActivationFormula::by_term;
}

LayerActivations korthikanti_activations(const Shape& shape, const Layout& layout) {
    constexpr double by_sequence = 10;  // norms, dropouts and the inputs of the matrices
    constexpr double by_tensor = 24;
    constexpr double by_score = 5;
    const Letters l{shape, layout};
    Kept kept;
    kept.rest = l.tokens * l.h * (by_sequence / l.q + by_tensor / l.t);
    kept.core = layout.flash_attention ? 0 : by_score * l.n * l.s * l.tokens / l.t;
    return recomputed(kept, layout, l);
}

LayerActivations term_activations(const Shape& shape, const Layout& layout, std::uint64_t layer) {
    const Letters l{shape, layout};
    auto kept = shape.latent ? latent_attention(*shape.latent, layout, l)
                             : grouped_attention(shape, layout, l);
    constexpr double norms = 2;  // each keeps its input, and its output is the input of a matrix
    kept.rest += norms * 2 * half * l.tokens * l.h / l.q + mlp_bytes(shape, l, layer);
    return recomputed(kept, layout, l);
}

LayerActivations layer_activations(const Shape& shape, const Layout& layout, std::uint64_t layer) {
    return formula_for(shape) == ActivationFormula::korthikanti
               ? korthikanti_activations(shape, layout)
               : term_activations(shape, layout, layer);
}

double logit_bytes(const Shape& shape, const Layout& layout) {
    const Letters l{shape, layout};
    return 2 * half * l.tokens * l.h / l.q +
           (full + half) * l.tokens * as_double(shape.vocabulary) / l.t;
}

}  // namespace railhead::training
