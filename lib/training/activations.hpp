// What a layer keeps of the forward pass for the backward pass, in bytes of one GPU.
//
// Values have 16 bits.  In the formulas: T tokens of a microbatch on this GPU (sequence x
// microbatch / cp), s the sequence, h hidden, n heads, d width of a head, k KV heads of one GPU, f
// width of the MLP, t = tp; q = t with sequence parallelism, else 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "training/layout.hpp"
#include "training/shape.hpp"

namespace railhead::training {

enum class ActivationFormula : std::uint8_t {
    korthikanti,  ///< eq. 1 to 6 of Korthikanti et al., arXiv:2205.05198
    by_term       ///< our own sum over the tensors of the layer; docs/memory.md derives it
};

/// The formula's name as it is shown: "Korthikanti et al. 2022, eq. 1-6".
[[nodiscard]] std::string_view to_string(ActivationFormula formula);

/// Korthikanti's formula for the layer it was made for: a GELU MLP of 4 h and a key and value for
/// each head; the sum by terms for all others.
[[nodiscard]] ActivationFormula formula_for(const Shape& shape);

/// Bytes of one layer and one microbatch.
struct LayerActivations {
    double kept = 0;        ///< from forward to backward
    double recomputed = 0;  ///< more of it for the one layer that is at work backwards
};

/// T h (34 / t + 5 n s / (h t)) with sequence parallelism, T h (10 + 24 / t + 5 n s / (h t))
/// without; no last term with selective recomputation or flash attention; 2 T h (/ q) with full
/// recomputation.  Counts dropout masks.
[[nodiscard]] LayerActivations korthikanti_activations(const Shape& shape, const Layout& layout);

/// The sum by terms: grouped, sliding and latent attention, plain and gated MLPs, experts.  `layer`
/// counts from 0: the first of a model with experts may have a plain MLP.
[[nodiscard]] LayerActivations term_activations(const Shape& shape, const Layout& layout,
                                                std::uint64_t layer);

/// By the shape's formula.
[[nodiscard]] LayerActivations layer_activations(const Shape& shape, const Layout& layout,
                                                 std::uint64_t layer);

/// The end of the model: input of the last norm and of the output matrix, 4 T h / q (Korthikanti,
/// section 4.3), and logits, T V / t of 4 bytes (there) with 2 more for the 16-bit ones that the
/// output matrix gives and whose place their gradient takes.
[[nodiscard]] double logit_bytes(const Shape& shape, const Layout& layout);

}  // namespace railhead::training
