// The same fix in the words of the program that the run uses: Megatron-LM's arguments, DeepSpeed's
// JSON, torchtitan's TOML, NeMo's YAML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diagnose/facts.hpp"

namespace railhead::diagnose {

enum class Framework : std::uint8_t { megatron, deepspeed, torchtitan, nemo, other };

/// By the configurations, else by the log; `other` where neither tells.
[[nodiscard]] Framework framework_of(const Facts& facts);

/// What is to be set.
enum class Remedy : std::uint8_t {
    interleave,
    tensor_within_node,
    no_full_recompute,
    overlap_gradients,
    larger_buckets,
    flash_attention,
    sixteen_bits,
    more_loaders,
    larger_micro_batch,
    save_interval,
    count_
};

/// The setting, with `value` where it has a number: "--micro-batch-size 4".  Of a framework that is
/// not known, Megatron-LM's and PyTorch's words.
[[nodiscard]] std::string setting_for(Remedy remedy, Framework framework,
                                      std::string_view value = {});

}  // namespace railhead::diagnose
