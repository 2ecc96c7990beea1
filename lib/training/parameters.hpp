// How many parameters a model has, part by part, and how many of them a token goes through.
#pragma once

#include "training/shape.hpp"

namespace railhead::training {

/// The matrices of one layer, without biases.  Parameters.
struct LayerMatrices {
    double attention = 0;  ///< projections to queries, keys, values and to the output
    double mlp = 0;        ///< of a layer without experts
    double expert = 0;     ///< one expert
    double router = 0;     ///< hidden x experts
};

/// Counts the matrices of a layer: h n d (queries) + 2 h g d (keys, values) + n d h (output) for n
/// heads of width d, g of them with keys and values; with latent attention those of DeepSeek-V2
/// (arXiv:2405.04434, section 2.1); 2 h f for a plain MLP and 3 h f for a gated one.
[[nodiscard]] LayerMatrices layer_matrices(const Shape& shape);

/// All of a model.  Exact up to 2^53.  Layers that predict further tokens are left out, as papers
/// do: DeepSeek-V3 has 671 B without its own.
struct Parameters {
    double embedding = 0;
    double positions = 0;  ///< learned ones
    double attention = 0;
    double mlp = 0;      ///< of the layers without experts
    double experts = 0;  ///< all of them, the shared ones too
    double routers = 0;
    double norms = 0;
    double biases = 0;
    double output = 0;          ///< 0 where it is the embedding
    double active_experts = 0;  ///< those of `experts` that a token goes through

    [[nodiscard]] double total() const;
    [[nodiscard]] double active() const { return total() - experts + active_experts; }
};

/// Counts the parameters of `shape`, which check_shape() found right.
///
/// L (2 h^2 + 2 h^2 g/n + 3 h f + 2 h) + h + 2 V h for a Llama; 12 L h^2 (1 + 13/(12 h)) + (V + s)
/// h
/// + 2 h for a GPT (SC21, arXiv:2104.04473v5, eq 2, which leaves out the last norm).  Norms of
/// queries and keys (Qwen3) are left out: below 0.001 %.
[[nodiscard]] Parameters count_parameters(const Shape& shape);

/// N of the 6N formulas: what the user said, else what a token goes through.
[[nodiscard]] double active_parameters(const Shape& shape);

}  // namespace railhead::training
