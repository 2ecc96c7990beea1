#include "training/memory.hpp"

#include <algorithm>

#include "training/parameters.hpp"

namespace railhead::training {

namespace {

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

/// Of one GPU: projections are divided by tp, but KV heads only down to one, and what compresses
/// latent attention not at all.
double attention_parameters(const Shape& shape, double t) {
    const auto h = as_double(shape.hidden);
    if (shape.latent) {
        const auto& latent = *shape.latent;
        const auto ranks = as_double(latent.query_rank + latent.key_value_rank);
        const auto whole = h * (ranks + as_double(latent.rope_head));
        return whole + ranks + (layer_matrices(shape).attention - whole) / t;
    }
    const auto kv_heads = std::max(1.0, as_double(shape.kv_heads()) / t);
    return 2 * h * as_double(shape.head_width()) * (as_double(shape.heads) / t + kv_heads);
}

/// Of one GPU; those behind a matrix that is divided by its rows are whole.
double bias_parameters(const Shape& shape, double t) {
    if (shape.bias == Bias::none || shape.latent) {
        return 0;
    }
    const auto heads = as_double(shape.heads + 2 * shape.kv_heads());
    const auto inputs = heads * as_double(shape.head_width()) / t;
    const auto wide = (shape.mlp == Mlp::gated ? 2 : 1) * as_double(shape.ffn) / t;
    return shape.bias == Bias::all ? inputs + wide + 2 * as_double(shape.hidden) : inputs;
}

/// A LayerNorm has a bias too.
double norm_parameters(const Shape& shape) {
    return (shape.bias == Bias::all ? 2 : 1) * as_double(shape.hidden);
}

bool has_experts(const Shape& shape, std::uint64_t layer) {
    return shape.experts && layer >= shape.experts->dense_layers;
}

/// All of a layer but its routed experts.
double common_parameters(const Shape& shape, std::uint64_t layer, double t) {
    const auto matrices = layer_matrices(shape);
    const auto out =
        attention_parameters(shape, t) + bias_parameters(shape, t) + 2 * norm_parameters(shape);
    return has_experts(shape, layer)
               ? out + matrices.router + as_double(shape.experts->shared) * matrices.expert / t
               : out + matrices.mlp / t;
}

double expert_parameters(const Shape& shape, std::uint64_t layer, const Layout& layout) {
    return has_experts(shape, layer)
               ? layer_matrices(shape).expert * as_double(shape.experts->count) /
                     as_double(layout.tp * layout.ep)
               : 0;
}

/// Embedding, positions, the last norm and the output matrix, where this stage has them.  A tied
/// matrix lies on both ends of a pipeline.
double end_parameters(const Shape& shape, const Layout& layout, std::uint64_t stage) {
    const auto h = as_double(shape.hidden);
    const auto matrix = as_double(shape.vocabulary) * h / as_double(layout.tp);
    const bool is_last = stage + 1 == layout.pp;
    double out = 0;
    if (stage == 0) {
        out += matrix + (shape.positions ? as_double(shape.sequence) * h : 0);
    }
    if (is_last) {
        out += norm_parameters(shape);
        out += shape.tied && layout.pp == 1 ? 0 : matrix;
    }
    return out;
}

/// Layers of a stage are alike but for those before the first with experts.
struct Kinds {
    std::uint64_t plain = 0, last_plain = 0;
    std::uint64_t routed = 0, last_routed = 0;
};

Kinds kinds_of(const Shape& shape, const StageLayers& layers) {
    const auto dense = shape.experts ? shape.experts->dense_layers : shape.layers;
    const auto border = std::clamp(dense, layers.begin, layers.end);
    Kinds out;
    out.plain = border - layers.begin;
    out.last_plain = border - std::min<std::uint64_t>(border, 1);
    out.routed = layers.end - border;
    out.last_routed = layers.end - std::min<std::uint64_t>(layers.end, 1);
    return out;
}

void add_activations(const Shape& shape, const Layout& layout, std::uint64_t stage, Memory& out) {
    const auto kinds = kinds_of(shape, layers_of(shape, layout, stage));
    const auto flights = as_double(chunks_in_flight(layout, stage)) / as_double(layout.interleave);
    const auto add = [&](std::uint64_t count, std::uint64_t layer) {
        if (count > 0) {
            const auto one = layer_activations(shape, layout, layer);
            out.activations += flights * as_double(count) * one.kept;
            out.recomputed = std::max(out.recomputed, one.recomputed);
        }
    };
    add(kinds.plain, kinds.last_plain);
    add(kinds.routed, kinds.last_routed);
    if (stage + 1 == layout.pp) {
        out.logits = logit_bytes(shape, layout);
    }
}

void add_reserve(const Layout& layout, const Reserve& reserve, Memory& out) {
    double communicators = 0;
    for (const auto size : {layout.tp, layout.pp, layout.cp, layout.ep, layout.dp}) {
        communicators += size > 1 ? 1 : 0;
    }
    out.reserve =
        reserve.context_bytes + communicators * reserve.communicator_bytes +
        reserve.fragmentation * (out.gathered + out.activations + out.recomputed + out.logits);
}

}  // namespace

State state_of(double parameters, const Recipe& recipe, Sharding sharding, double copies) {
    const auto share = [&](Sharding from) { return sharding >= from ? 1 / copies : 1.0; };
    State out;
    out.weights = parameters * recipe.weights * share(Sharding::weights);
    out.gradients =
        parameters * ((recipe.gradients - recipe.gradient_copy) * share(Sharding::gradients) +
                      recipe.gradient_copy * share(Sharding::optimizer));
    out.optimizer = parameters * recipe.optimizer * share(Sharding::optimizer);
    return out;
}

StageParameters parameters_of(const Shape& shape, const Layout& layout, std::uint64_t stage) {
    const auto kinds = kinds_of(shape, layers_of(shape, layout, stage));
    const auto t = as_double(layout.tp);
    StageParameters out;
    const auto add = [&](std::uint64_t count, std::uint64_t layer) {
        if (count > 0) {
            const auto common = common_parameters(shape, layer, t);
            const auto experts = expert_parameters(shape, layer, layout);
            out.common += as_double(count) * common;
            out.experts += as_double(count) * experts;
            out.layer = std::max(out.layer, common + experts);
        }
    };
    add(kinds.plain, kinds.last_plain);
    add(kinds.routed, kinds.last_routed);
    out.common += end_parameters(shape, layout, stage);
    return out;
}

Memory memory_of_stage(const Shape& shape, const Layout& layout, const Recipe& recipe,
                       std::uint64_t stage, const Reserve& reserve) {
    const auto parameters = parameters_of(shape, layout, stage);
    const auto copies = as_double(layout.cp * layout.dp);
    const auto common =
        state_of(parameters.common, recipe, layout.sharding, copies * as_double(layout.ep));
    const auto experts = state_of(parameters.experts, recipe, layout.sharding, copies);
    Memory out;
    out.stage = stage;
    out.formula = formula_for(shape);
    out.state = {common.weights + experts.weights, common.gradients + experts.gradients,
                 common.optimizer + experts.optimizer};
    if (layout.sharding == Sharding::weights) {
        constexpr double layers = 2;
        out.gathered = layers * recipe.weights * parameters.layer;
    }
    add_activations(shape, layout, stage, out);
    add_reserve(layout, reserve, out);
    return out;
}

Memory memory_per_gpu(const Shape& shape, const Layout& layout, const Recipe& recipe,
                      const Reserve& reserve) {
    // Of the stages between first and last the second has most layers and most in flight.
    auto most = memory_of_stage(shape, layout, recipe, 0, reserve);
    for (const auto stage : {std::uint64_t{1}, layout.pp - 1}) {
        if (stage > 0 && stage < layout.pp) {
            const auto memory = memory_of_stage(shape, layout, recipe, stage, reserve);
            most = memory.total() > most.total() ? memory : most;
        }
    }
    return most;
}

Fit fit_of(const Memory& memory, double memory_bytes) {
    if (memory.total() <= memory_bytes) {
        return Fit::fits;
    }
    return memory.needed() <= memory_bytes ? Fit::tight : Fit::no;
}

std::string_view to_string(Fit fit) {
    switch (fit) {
        case Fit::fits:
            return "fits";
        case Fit::tight:
            return "tight";
        case Fit::no:
            break;
    }
    return "no";
}

}  // namespace railhead::training
