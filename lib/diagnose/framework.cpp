#include "diagnose/framework.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace railhead::diagnose {

namespace {

constexpr auto frameworks = static_cast<std::size_t>(Framework::other) + 1;

/// In the order of Framework; "{}" is the number.
using Words = std::array<std::string_view, frameworks>;

/// In the order of Remedy.
constexpr std::array<Words, static_cast<std::size_t>(Remedy::count_)> settings{{
    {"--num-layers-per-virtual-pipeline-stage {}",
     "DeepSpeed does not interleave stages: raise \"gradient_accumulation_steps\"",
     "parallelism.pipeline_parallel_schedule = \"Interleaved1F1B\", "
     "pipeline_parallel_layers_per_stage = {}",
     "model.virtual_pipeline_model_parallel_size: {}",
     "interleaved stages (virtual pipeline stages)"},
    {"--tensor-model-parallel-size {}", "\"tensor_parallel\": {\"autotp_size\": {}}",
     "parallelism.tensor_parallel_degree = {}", "model.tensor_model_parallel_size: {}",
     "tensor parallelism of {}"},
    {"--recompute-granularity selective --sequence-parallel, with flash attention",
     "checkpoint() around the attention alone, not around whole layers",
     "activation_checkpoint.mode = \"selective\"",
     "model.activations_checkpoint_granularity: selective", "recompute the attention alone"},
    {"--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer",
     "\"zero_optimization\": {\"overlap_comm\": true}",
     "FSDP2 overlaps by itself: reshard_after_forward of parallelism as it is by default",
     "model.optim.name: distributed_fused_adam, model.optim.overlap_grad_sync: True",
     "DistributedDataParallel or FSDP, which overlap by themselves"},
    {"--ddp-bucket-size {}", "\"zero_optimization\": {\"reduce_bucket_size\": {}}",
     "FSDP2 sends a layer at once: wrap larger blocks", "model.optim.bucket_cap_mb: {}",
     "DistributedDataParallel(bucket_cap_mb={})"},
    {"--use-flash-attn, or --attention-backend flash of Megatron Core",
     "attn_implementation=\"flash_attention_2\" of the model",
     "scaled_dot_product_attention with the flash backend", "model.use_flash_attention: True",
     "scaled_dot_product_attention, or the package flash-attn"},
    {"--bf16", "\"bf16\": {\"enabled\": true}", "training.mixed_precision_param = \"bfloat16\"",
     "trainer.precision: bf16-mixed", "torch.autocast(\"cuda\", dtype=torch.bfloat16)"},
    {"--num-workers {}", "DataLoader(num_workers={}, pin_memory=True)",
     "DataLoader(num_workers={}, pin_memory=True)",
     "model.data.num_workers: {}, model.data.pin_memory: True",
     "DataLoader(num_workers={}, pin_memory=True)"},
    {"--micro-batch-size {}", "\"train_micro_batch_size_per_gpu\": {}",
     "training.local_batch_size = {}", "model.micro_batch_size: {}", "a micro-batch of {}"},
    {"--save-interval {}", "save_checkpoint() each {} steps", "checkpoint.interval = {}",
     "exp_manager.checkpoint_callback_params.every_n_train_steps: {}",
     "a checkpoint each {} steps"},
}};

}  // namespace

Framework framework_of(const Facts& facts) {
    for (const auto& configuration : facts.machine.configurations) {
        switch (configuration.kind) {
            case FileKind::deepspeed_config:
                return Framework::deepspeed;
            case FileKind::torchtitan_config:
                return Framework::torchtitan;
            case FileKind::nemo_config:
                return Framework::nemo;
            default:
                break;
        }
    }
    const auto* training = facts.main_training();
    switch (training != nullptr ? training->run().kind : training::LogKind::none) {
        case training::LogKind::megatron:
            return Framework::megatron;
        case training::LogKind::nemo:
            return Framework::nemo;
        case training::LogKind::torchtitan:
            return Framework::torchtitan;
        default:
            break;
    }
    const bool is_megatron =
        std::ranges::any_of(facts.machine.configurations, [](const RunConfiguration& one) {
            return one.find("option.tensor-model-parallel-size") != nullptr ||
                   one.find("option.micro-batch-size") != nullptr;
        });
    return is_megatron ? Framework::megatron : Framework::other;
}

std::string setting_for(Remedy remedy, Framework framework, std::string_view value) {
    const std::string_view words =
        settings.at(static_cast<std::size_t>(remedy)).at(static_cast<std::size_t>(framework));
    const auto at = words.find("{}");
    return at == std::string_view::npos
               ? std::string{words}
               : fmt::format("{}{}{}", words.substr(0, at), value, words.substr(at + 2));
}

}  // namespace railhead::diagnose
