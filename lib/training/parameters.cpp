#include "training/parameters.hpp"

namespace railhead::training {

namespace {

double to_double(std::uint64_t count) {
    return static_cast<double>(count);
}

double latent_matrices(const Shape& shape, const Latent& latent) {
    const auto h = to_double(shape.hidden);
    const auto heads = to_double(shape.heads);
    const auto kv = to_double(latent.key_value_rank);
    const auto query_head = to_double(latent.plain_head + latent.rope_head);
    const auto value_head = to_double(latent.value_head);
    const auto queries = latent.query_rank == 0
                             ? h * heads * query_head
                             : to_double(latent.query_rank) * (h + heads * query_head);
    const auto keys_values = h * (kv + to_double(latent.rope_head)) +
                             kv * heads * (to_double(latent.plain_head) + value_head);
    return queries + keys_values + heads * value_head * h;
}

/// Layers that have experts, and those that have an MLP instead.
struct Split {
    double with_experts = 0, plain = 0;
};

Split split(const Shape& shape) {
    const auto plain = shape.experts ? shape.experts->dense_layers : shape.layers;
    return {to_double(shape.layers - plain), to_double(plain)};
}

/// Of one layer, and of the norm behind the last.
double norm_parameters(const Shape& shape) {
    const auto vectors = shape.bias == Bias::all ? 2.0 : 1.0;  // a LayerNorm has a bias too
    const auto h = to_double(shape.hidden);
    const auto latent =
        shape.latent ? to_double(shape.latent->query_rank + shape.latent->key_value_rank) : 0.0;
    const auto layers = to_double(shape.layers);
    return vectors * (layers * 2 * h + h) + layers * latent;
}

double bias_parameters(const Shape& shape) {
    if (shape.bias == Bias::none || shape.latent) {
        return 0;
    }
    const auto h = to_double(shape.hidden);
    const auto d = to_double(shape.head_width());
    const auto inputs = (to_double(shape.heads) + 2 * to_double(shape.kv_heads())) * d;
    const auto mlp = (shape.mlp == Mlp::gated ? 2.0 : 1.0) * to_double(shape.ffn) + h;
    const auto layer = shape.bias == Bias::all ? inputs + h + mlp : inputs;
    return to_double(shape.layers) * layer;
}

}  // namespace

LayerMatrices layer_matrices(const Shape& shape) {
    const auto h = to_double(shape.hidden);
    const auto d = to_double(shape.head_width());
    const auto mlp_matrices = shape.mlp == Mlp::gated ? 3.0 : 2.0;
    LayerMatrices layer;
    layer.attention = shape.latent
                          ? latent_matrices(shape, *shape.latent)
                          : 2 * h * d * (to_double(shape.heads) + to_double(shape.kv_heads()));
    layer.mlp = mlp_matrices * h * to_double(shape.ffn);
    if (shape.experts) {
        layer.expert = mlp_matrices * h * to_double(shape.experts->ffn);
        layer.router = h * to_double(shape.experts->count);
    }
    return layer;
}

double Parameters::total() const {
    return embedding + positions + attention + mlp + experts + routers + norms + biases + output;
}

Parameters count_parameters(const Shape& shape) {
    const auto layer = layer_matrices(shape);
    const auto [with_experts, plain] = split(shape);
    const auto h = to_double(shape.hidden);
    Parameters all;
    all.embedding = to_double(shape.vocabulary) * h;
    all.positions = shape.positions ? to_double(shape.sequence) * h : 0;
    all.attention = to_double(shape.layers) * layer.attention;
    all.mlp = plain * layer.mlp;
    if (shape.experts) {
        const auto& experts = *shape.experts;
        all.experts = with_experts * layer.expert * to_double(experts.count + experts.shared);
        all.active_experts =
            with_experts * layer.expert * to_double(experts.active + experts.shared);
        all.routers = with_experts * layer.router;
    }
    all.norms = norm_parameters(shape);
    all.biases = bias_parameters(shape);
    all.output = shape.tied ? 0 : all.embedding;
    return all;
}

double active_parameters(const Shape& shape) {
    return shape.parameters ? *shape.parameters : count_parameters(shape).active();
}

}  // namespace railhead::training
