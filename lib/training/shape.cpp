#include "training/shape.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace railhead::training {

namespace {

constexpr std::uint64_t most = std::uint64_t{1} << 40U;

/// A size that a shape must have.
struct Size {
    std::string_view name;
    std::uint64_t value;
    bool needed;
};

Result<void> check_sizes(const Shape& shape) {
    const bool has_plain_layers = !shape.experts || shape.experts->dense_layers > 0;
    const auto experts = shape.experts.value_or(Experts{1, 1, 0, 1, 0});
    const auto latent = shape.latent.value_or(Latent{0, 1, 0, 1, 1});
    const std::array sizes{Size{"layers", shape.layers, true},
                           Size{"hidden", shape.hidden, true},
                           Size{"heads", shape.heads, true},
                           Size{"vocabulary", shape.vocabulary, true},
                           Size{"ffn", shape.ffn, has_plain_layers},
                           Size{"sequence", shape.sequence, shape.positions},
                           Size{"kv_heads", shape.key_value_heads, false},
                           Size{"head", shape.head, false},
                           Size{"mtp_layers", shape.mtp_layers, false},
                           Size{"experts.count", experts.count, true},
                           Size{"experts.active", experts.active, true},
                           Size{"experts.ffn", experts.ffn, true},
                           Size{"experts.shared", experts.shared, false},
                           Size{"latent.query_rank", latent.query_rank, false},
                           Size{"latent.key_value_rank", latent.key_value_rank, true},
                           Size{"latent.rope_head", latent.rope_head, false},
                           Size{"latent.plain_head", latent.plain_head, true},
                           Size{"latent.value_head", latent.value_head, true}};
    for (const auto& size : sizes) {
        if (size.needed && size.value == 0) {
            return fail(Errc::bad_input, fmt::format("the model has no \"{}\"", size.name));
        }
        if (size.value > most) {
            return fail(Errc::bad_input,
                        fmt::format("\"{}\" of the model is {}: no model has so much", size.name,
                                    size.value));
        }
    }
    return {};
}

}  // namespace

Result<void> check_shape(const Shape& shape) {
    if (auto right = check_sizes(shape); !right) {
        return right;
    }
    if (shape.head == 0 && !shape.latent && shape.hidden % shape.heads != 0) {
        return fail(Errc::bad_input,
                    fmt::format("{} heads do not divide hidden {}: say \"head\", the width of one",
                                shape.heads, shape.hidden));
    }
    if (shape.heads % shape.kv_heads() != 0) {
        return fail(Errc::bad_input, fmt::format("{} key/value heads do not divide {} heads",
                                                 shape.kv_heads(), shape.heads));
    }
    if (shape.window_layers > shape.layers) {
        return fail(Errc::bad_input, fmt::format("{} layers have a window, of {}",
                                                 shape.window_layers, shape.layers));
    }
    if (shape.experts) {
        const auto& experts = *shape.experts;
        if (experts.active > experts.count) {
            return fail(Errc::bad_input, fmt::format("a token goes through {} experts, of {}",
                                                     experts.active, experts.count));
        }
        if (experts.dense_layers > shape.layers) {
            return fail(Errc::bad_input, fmt::format("{} layers are without experts, of {}",
                                                     experts.dense_layers, shape.layers));
        }
    }
    return {};
}

}  // namespace railhead::training
