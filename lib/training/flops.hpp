// How many floating-point operations training takes for one token, and by which convention.
//
// Papers and frameworks count differently, by up to an eighth for one model: with full attention or
// the causal half of it, with the embedding or without.  A count is worth nothing without the name
// of its convention.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "training/shape.hpp"

namespace railhead::training {

/// What is counted of the products of queries with keys, and of the weights with values.
enum class Attention {
    none,
    full,   ///< each token with all of the sequence (PaLM)
    causal  ///< with those before it: half
};

/// How the matrices are counted.
enum class Counting {
    parameters,     ///< 6 for each that a token goes through, the input embedding too
    but_embedding,  ///< as before, without the input embedding, unless it is the output too
    matrices        ///< 6 for each element of each matrix that a token is multiplied with
};

/// What of the forward pass is worked out again in the backward pass.
enum class Recompute {
    none,
    selective,  ///< the attention core: products of queries with keys, and of weights with values
    full        ///< every layer
};
/// "none", "selective", "full".
[[nodiscard]] std::string_view to_string(Recompute recompute);

/// A way to count, as somebody published it.
struct Convention {
    std::string_view name;  ///< palm
    Counting counting = Counting::matrices;
    Attention attention = Attention::full;
    double selective = 1.0 / 3;  ///< of the attention's FLOPs, that selective recomputation adds
    std::string_view formula;    ///< for one token, forward and backward
    std::string_view source;
};

/// The conventions that are known, the default first.
[[nodiscard]] std::span<const Convention> conventions();
/// `not_found` with "did you mean".
[[nodiscard]] Result<const Convention*> find_convention(std::string_view name);

/// FLOPs of one token, forward and backward, by part.  A multiplication with its addition is two.
struct TokenFlops {
    double layers = 0;     ///< their matrices; with the 6N formulas all parameters
    double attention = 0;  ///< the attention core
    double output = 0;     ///< the logits, where they are counted apart
    [[nodiscard]] double total() const { return layers + attention + output; }
};

/// The FLOPs that the model needs, by `convention`, at a sequence length of `shape.sequence`.
///
/// Attention core: 6 k n (d + v) for each layer, where k is the number of keys that a token sees
/// (s, or the window where it is smaller; half of s for causal attention), n the number of heads, d
/// and v the widths of a query's and a value's head: 12 L h s for a GPT.  Routers are left out, as
/// in Megatron-LM: at most 0.3 %.  Fails with `bad_input` where the shape lacks what the convention
/// needs: 6nd needs `shape.parameters` alone.
[[nodiscard]] Result<TokenFlops> flops_per_token(const Shape& shape, const Convention& convention);

/// What flops_per_token() counts of this shape beside the terms of Convention::formula, or in place
/// of them, since the formula is that of a plain model: experts, latent attention, windows, heads
/// that are not h wide together, further tokens.  "" where the formula is all.
[[nodiscard]] std::string counted_besides(const Shape& shape, const Convention& convention);

/// The FLOPs that the hardware does: with what is recomputed.
///
/// Full recomputation adds a forward pass of the layers, a third of theirs; the 6N formulas do not
/// tell the logits apart, and add a third of all.  Selective adds a forward pass of the attention
/// core, a third of it, but by Korthikanti's formula (arXiv:2205.05198, section 5) all of it.
[[nodiscard]] double hardware_flops(const TokenFlops& model, const Convention& convention,
                                    Recompute recompute);

}  // namespace railhead::training
