#include "diagnose/setting_topics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

struct Meaning {
    std::string_view key;
    Topic topic;
    double scale = 1;  ///< from the setting's unit to that of the topic
};
/// By the ends of keys: they are in "model.", "trainer." or at the top.
constexpr std::array meanings{
    Meaning{"num_layers", Topic::layers},
    Meaning{"num-layers", Topic::layers},
    Meaning{"n_layers", Topic::layers},
    Meaning{"hidden_size", Topic::hidden},
    Meaning{"hidden-size", Topic::hidden},
    Meaning{"num_attention_heads", Topic::heads},
    Meaning{"num-attention-heads", Topic::heads},
    Meaning{"num_query_groups", Topic::key_value_heads},
    Meaning{"num-query-groups", Topic::key_value_heads},
    Meaning{"ffn_hidden_size", Topic::ffn},
    Meaning{"ffn-hidden-size", Topic::ffn},
    Meaning{"vocab_size", Topic::vocabulary},
    Meaning{"vocab-size", Topic::vocabulary},
    Meaning{"num_moe_experts", Topic::experts},
    Meaning{"num-experts", Topic::experts},
    Meaning{"moe_router_topk", Topic::active_experts},
    Meaning{"moe-router-topk", Topic::active_experts},
    Meaning{"moe_ffn_hidden_size", Topic::expert_ffn},
    Meaning{"moe-ffn-hidden-size", Topic::expert_ffn},
    Meaning{"option.swiglu", Topic::gated},
    Meaning{"share_embeddings_and_output_weights", Topic::tied},
    Meaning{"encoder_seq_length", Topic::sequence},
    Meaning{"seq-length", Topic::sequence},
    Meaning{"seq_length", Topic::sequence},
    Meaning{"training.seq_len", Topic::sequence},
    Meaning{"global_batch_size", Topic::global_batch},
    Meaning{"global-batch-size", Topic::global_batch},
    Meaning{"train_batch_size", Topic::global_batch},
    Meaning{"micro_batch_size", Topic::micro_batch},
    Meaning{"micro-batch-size", Topic::micro_batch},
    Meaning{"train_micro_batch_size_per_gpu", Topic::micro_batch},
    Meaning{"training.local_batch_size", Topic::micro_batch},
    Meaning{"training.batch_size", Topic::micro_batch},
    Meaning{"job.gpus", Topic::world_size},
    Meaning{"tensor_model_parallel_size", Topic::tensor_parallel},
    Meaning{"tensor-model-parallel-size", Topic::tensor_parallel},
    Meaning{"parallelism.tensor_parallel_degree", Topic::tensor_parallel},
    Meaning{"tensor_parallel.autotp_size", Topic::tensor_parallel},
    // Before the one whose end it has.
    Meaning{"virtual_pipeline_model_parallel_size", Topic::chunks},
    Meaning{"num-layers-per-virtual-pipeline-stage", Topic::layers_per_chunk},
    Meaning{"pipeline_model_parallel_size", Topic::pipeline_parallel},
    Meaning{"pipeline-model-parallel-size", Topic::pipeline_parallel},
    Meaning{"parallelism.pipeline_parallel_degree", Topic::pipeline_parallel},
    Meaning{"context_parallel_size", Topic::context_parallel},
    Meaning{"context-parallel-size", Topic::context_parallel},
    Meaning{"parallelism.context_parallel_degree", Topic::context_parallel},
    Meaning{"expert_model_parallel_size", Topic::expert_parallel},
    Meaning{"expert-model-parallel-size", Topic::expert_parallel},
    Meaning{"bf16.enabled", Topic::bf16},
    Meaning{"option.bf16", Topic::bf16},
    Meaning{"fp16.enabled", Topic::fp16},
    Meaning{"option.fp16", Topic::fp16},
    Meaning{"training.steps", Topic::steps},
    Meaning{"trainer.max_steps", Topic::steps},
    Meaning{"option.overlap-grad-reduce", Topic::gradient_overlap},
    Meaning{"zero_optimization.overlap_comm", Topic::gradient_overlap},
    Meaning{"overlap_grad_sync", Topic::gradient_overlap},
    Meaning{"zero_optimization.reduce_bucket_size", Topic::bucket_bytes, 2},  // 16-bit elements
    Meaning{"ddp-bucket-size", Topic::bucket_bytes, 4},                       // of 32 bits
    Meaning{"optim.bucket_cap_mb", Topic::bucket_bytes, 1048576},
    Meaning{"option.use-flash-attn", Topic::flash_attention},
    Meaning{"use_flash_attention", Topic::flash_attention},
    Meaning{"option.num-workers", Topic::loader_workers},
    Meaning{"data.num_workers", Topic::loader_workers},
    Meaning{"training.num_workers", Topic::loader_workers},
    Meaning{"data.pin_memory", Topic::pinned_memory},
    Meaning{"training.pin_memory", Topic::pinned_memory},
    Meaning{"option.save-interval", Topic::save_interval},
    Meaning{"checkpoint.interval", Topic::save_interval},
    Meaning{"every_n_train_steps", Topic::save_interval},
    Meaning{"option.async-save", Topic::asynchronous_save},
    Meaning{"async_save", Topic::asynchronous_save},
};

/// A word that says something of a topic; any value where `value` is empty.
struct Word {
    std::string_view key, value;
    Topic topic;
    double worth = 1;
};
constexpr std::array words{
    Word{"activation_checkpoint.mode", "full", Topic::full_recompute},
    Word{"activations_checkpoint_granularity", "full", Topic::full_recompute},
    Word{"recompute-granularity", "full", Topic::full_recompute},
    Word{"activation_checkpoint.mode", "selective", Topic::selective_recompute},
    Word{"activations_checkpoint_granularity", "selective", Topic::selective_recompute},
    Word{"recompute-granularity", "selective", Topic::selective_recompute},
    Word{"activation_checkpoint.mode", "none", Topic::full_recompute, 0},
    Word{"activations_checkpoint_granularity", "null", Topic::full_recompute, 0},
    Word{"option.recompute-activations", "", Topic::selective_recompute},
    Word{"model.activation", "swiglu", Topic::gated},
    Word{"model.activation", "fast-swiglu", Topic::gated},
    Word{"option.untie-embeddings-and-output-weights", "", Topic::tied, 0},
    Word{"trainer.precision", "bf16", Topic::bf16},
    Word{"trainer.precision", "bf16-mixed", Topic::bf16},
    Word{"trainer.precision", "bf16-true", Topic::bf16},
    Word{"trainer.precision", "32", Topic::fp32},
    Word{"trainer.precision", "32-true", Topic::fp32},
    Word{"training.mixed_precision_param", "bfloat16", Topic::bf16},
    Word{"training.mixed_precision_param", "float32", Topic::fp32},
    Word{"checkpoint.async_mode", "async", Topic::asynchronous_save},
    Word{"checkpoint.async_mode", "async_with_pinned_mem", Topic::asynchronous_save},
    Word{"checkpoint.async_mode", "disabled", Topic::asynchronous_save, 0},
    Word{"attention-backend", "unfused", Topic::flash_attention, 0},
    Word{"attention-backend", "local", Topic::flash_attention, 0},
    Word{"attention-backend", "flash", Topic::flash_attention},
};

/// Whether `key` is `end`, or ends in it after a dot.
bool ends_in(std::string_view key, std::string_view end) {
    return key == end || (key.ends_with(end) && key[key.size() - end.size() - 1] == '.');
}

std::optional<double> worth_of(const Setting& setting) {
    if (setting.value == "true" || setting.value == "True" ||
        (setting.value.empty() && setting.key.starts_with("option."))) {
        return 1;
    }
    if (setting.value == "false" || setting.value == "False") {
        return 0;
    }
    const auto number = number_in(setting.value);
    return number && setting.value.find_first_not_of("0123456789.eE+-") == std::string::npos
               ? number
               : std::nullopt;  // "auto", "${SEQ_LEN}"
}

void set(RunConfiguration& to, Topic topic, double worth, const Setting& by) {
    to.facts.at(static_cast<std::size_t>(topic)) = training::Fact{worth, by.key, by.evidence.line};
}

/// NeMo and Lightning say nodes and the devices of each.
void set_world(RunConfiguration& to) {
    const auto* nodes = to.find("trainer.num_nodes");
    const auto* devices = to.find("trainer.devices");
    if (nodes == nullptr || devices == nullptr) {
        return;
    }
    const auto count = worth_of(*nodes);
    const auto each = worth_of(*devices);
    if (count && each && *count > 0 && *each > 0) {
        set(to, Topic::world_size, *count * *each, *nodes);
    }
}

/// DeepSpeed takes 32 bits where neither of the others is turned on.
void set_fp32(RunConfiguration& to) {
    const auto* bf16 = to.fact(Topic::bf16);
    const auto* fp16 = to.fact(Topic::fp16);
    const bool is_off =
        (bf16 != nullptr && bf16->value == 0) || (fp16 != nullptr && fp16->value == 0);
    const bool is_on =
        (bf16 != nullptr && bf16->value == 1) || (fp16 != nullptr && fp16->value == 1);
    if (to.kind == FileKind::deepspeed_config && is_off && !is_on) {
        const auto* off = bf16 != nullptr ? bf16 : fp16;
        to.facts.at(static_cast<std::size_t>(Topic::fp32)) =
            training::Fact{1, off->written, off->line};
    }
}

}  // namespace

void set_topics(RunConfiguration& configuration) {
    for (const auto& setting : configuration.settings) {
        if (setting.key.starts_with("sbatch.")) {
            continue;
        }
        const auto* meaning = std::ranges::find_if(
            meanings, [&](const Meaning& one) { return ends_in(setting.key, one.key); });
        const auto worth = worth_of(setting);
        if (meaning != meanings.end() && worth) {
            set(configuration, meaning->topic, *worth * meaning->scale, setting);
        }
        for (const auto& word : words) {
            if (ends_in(setting.key, word.key) &&
                (word.value.empty() || setting.value == word.value)) {
                set(configuration, word.topic, word.worth, setting);
            }
        }
    }
    set_world(configuration);
    set_fp32(configuration);
}

}  // namespace railhead::diagnose
