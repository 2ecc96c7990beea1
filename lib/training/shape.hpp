// The shape of a transformer: what its FLOPs, its parameters and its memory follow from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::training {

/// What has a bias: nothing (Llama), the projections to queries, keys and values (Qwen2), or all
/// matrices and norms (GPT-3, whose norms are LayerNorms).
enum class Bias { none, attention_inputs, all };

enum class Mlp { plain, gated };  ///< two matrices (GELU), or three (SwiGLU)

/// Layers that route each token to some of many experts.
struct Experts {
    std::uint64_t count = 0;         ///< in a layer that has them
    std::uint64_t active = 0;        ///< that a token goes through, without the shared ones
    std::uint64_t shared = 0;        ///< that every token goes through
    std::uint64_t ffn = 0;           ///< width of one expert
    std::uint64_t dense_layers = 0;  ///< layers that have a plain MLP of Shape::ffn instead
};

/// Multi-head latent attention (DeepSeek-V2, V3).
struct Latent {
    std::uint64_t query_rank = 0;  ///< 0: queries are not compressed
    std::uint64_t key_value_rank = 0;
    std::uint64_t rope_head = 0, plain_head = 0, value_head = 0;  ///< widths of one head
};

struct Shape {
    std::string name;
    std::vector<std::string> aliases;
    std::uint64_t layers = 0;
    std::uint64_t hidden = 0;
    std::uint64_t heads = 0;
    std::uint64_t key_value_heads = 0;  ///< as heads where attention is not grouped
    std::uint64_t head = 0;  ///< width of one head; hidden / heads where it says no other
    std::uint64_t ffn = 0;
    std::uint64_t vocabulary = 0;
    std::uint64_t sequence = 0;       ///< the length it is trained at
    std::uint64_t window = 0;         ///< of sliding attention; 0: every token sees all before it
    std::uint64_t window_layers = 0;  ///< layers with that window; the rest see all
    Mlp mlp = Mlp::gated;
    bool tied = false;       ///< the output matrix is the embedding
    bool positions = false;  ///< learned positions, as GPT-3 has: sequence * hidden parameters
    Bias bias = Bias::none;
    std::uint64_t mtp_layers = 0;  ///< layers more that predict further tokens (DeepSeek-V3: 1)
    std::optional<Experts> experts;
    std::optional<Latent> latent;
    std::optional<double> parameters;  ///< said by the user: N of the 6N formulas, not counted
    std::optional<double> published_parameters;  ///< as its paper prints them
    std::optional<double> tokens;                ///< that it was trained on
    std::string source;

    /// Heads that keys and values have; `heads` where none is said.
    [[nodiscard]] std::uint64_t kv_heads() const {
        return key_value_heads != 0 ? key_value_heads : heads;
    }
    /// Width of one head of queries and keys, without latent attention.
    [[nodiscard]] std::uint64_t head_width() const {
        return head != 0 || heads == 0 ? head : hidden / heads;
    }
};

/// Whether parameters and FLOPs can be counted: layers, hidden, heads, vocabulary and the width of
/// the MLP are there, none is absurd (above 2^40), and they go together: heads divide hidden where
/// no width of a head is said, and key/value heads divide heads.  Fails with `bad_input`.
[[nodiscard]] Result<void> check_shape(const Shape& shape);

}  // namespace railhead::training
