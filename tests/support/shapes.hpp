// Models as their papers describe them, for tests.
#pragma once

#include "training/shape.hpp"

namespace railhead::test {

/// LLaMA 65B: Touvron et al., arXiv:2302.13971, table 2; width of the MLP from its checkpoint.
inline training::Shape llama_65b() {
    training::Shape shape;
    shape.name = "llama-65b";
    shape.layers = 80;
    shape.hidden = 8192;
    shape.heads = shape.key_value_heads = 64;
    shape.ffn = 22016;
    shape.vocabulary = 32000;
    shape.sequence = 2048;
    return shape;
}

/// Llama 3.1 405B: arXiv:2407.21783, table 3.
inline training::Shape llama_405b() {
    training::Shape shape;
    shape.name = "llama-3.1-405b";
    shape.layers = 126;
    shape.hidden = 16384;
    shape.heads = 128;
    shape.key_value_heads = 8;
    shape.ffn = 53248;
    shape.vocabulary = 128256;
    shape.sequence = 8192;
    return shape;
}

/// Mixtral 8x7B: arXiv:2401.04088, table 1.
inline training::Shape mixtral_8x7b() {
    training::Shape shape;
    shape.name = "mixtral-8x7b";
    shape.layers = 32;
    shape.hidden = 4096;
    shape.heads = 32;
    shape.key_value_heads = 8;
    shape.ffn = 14336;
    shape.vocabulary = 32000;
    shape.sequence = 32768;
    shape.experts = training::Experts{8, 2, 0, 14336, 0};
    return shape;
}

/// DeepSeek-V3: arXiv:2412.19437, section 4.2; without its module for a second token.
inline training::Shape deepseek_v3() {
    training::Shape shape;
    shape.name = "deepseek-v3";
    shape.layers = 61;
    shape.hidden = 7168;
    shape.heads = shape.key_value_heads = 128;
    shape.ffn = 18432;
    shape.vocabulary = 129280;
    shape.sequence = 4096;
    shape.experts = training::Experts{256, 8, 1, 2048, 3};
    shape.latent = training::Latent{1536, 512, 64, 128, 128};
    return shape;
}

/// A GPT of this size, as GPT-2 and GPT-3 are.
inline training::Shape gpt(std::uint64_t layers, std::uint64_t hidden, std::uint64_t heads) {
    training::Shape shape;
    shape.name = "gpt";
    shape.layers = layers;
    shape.hidden = hidden;
    shape.heads = shape.key_value_heads = heads;
    shape.ffn = 4 * hidden;
    shape.vocabulary = 51200;
    shape.sequence = 2048;
    shape.mlp = training::Mlp::plain;
    shape.tied = true;
    shape.positions = true;
    shape.bias = training::Bias::all;
    return shape;
}

}  // namespace railhead::test
