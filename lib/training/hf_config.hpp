// The shape of a model from the config.json that Hugging Face keeps beside its weights.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "training/shape.hpp"

namespace railhead::training {

/// Reads config.json of a llama, mistral, mixtral, gpt2, qwen2, qwen3, qwen3_moe, deepseek_v2 or
/// deepseek_v3; `file` names it in messages.
///
/// The sequence is left open but for gpt2: max_position_embeddings says how long one may be, not
/// how long those were that it was trained with.  Fails with `bad_input`: no JSON (with line and
/// column), a key that is missing or of another kind, a shape that check_shape() refuses; with
/// `unsupported` for another model_type.
[[nodiscard]] Result<Shape> parse_hf_config(std::string_view text, const std::string& file);

}  // namespace railhead::training
