#include "plan/step_time.hpp"

#include <algorithm>
#include <array>

#include "fabric/collective_model.hpp"
#include "training/activations.hpp"
#include "training/flops.hpp"
#include "training/memory.hpp"
#include "training/parameters.hpp"
#include "training/traffic.hpp"

namespace railhead::plan {

namespace {

using training::Layout;
using training::Recompute;
using training::Sharding;

constexpr double per_parameter = 6;  // FLOPs, forward and backward
constexpr double forward = 1.0 / 3;  // of the FLOPs
constexpr double backward = 2.0 / 3;
constexpr double half = 2;  // bytes of a 16-bit value
/// FlashAttention-2 reaches 50 to 73 % of an A100's peak (arXiv:2307.08691), its successor 75 % of
/// an H100's (arXiv:2407.08608): the low end.
constexpr double attention_share = 0.5;
/// What a layer keeps is written once, and read by the next operation and by the backward pass.
constexpr double passes = 3;
/// All-gather or reduce-scatter before and after attention and MLP, both ways (Korthikanti et al.,
/// arXiv:2205.05198, section 4.2.2).
constexpr double tensor_collectives = 8;
constexpr double micro = 1e-6;

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

std::uint64_t dense_layers(const training::Shape& shape) {
    return shape.experts ? shape.experts->dense_layers : shape.layers;
}

}  // namespace

/// What all stages share.
struct StepModel::Microbatch {
    double tokens = 0;  ///< on one GPU
    double t = 1;       ///< tp
    double plain_kept = 0, routed_kept = 0;
    double tensor = 0;      ///< one collective, seconds
    double ring = 0;        ///< keys and values of a layer, all the way round and back, seconds
    double all_to_all = 0;  ///< one, seconds
    double send = 0;        ///< to the next stage, seconds
};

Result<StepModel> StepModel::make(const training::Shape& shape, const Machine& machine,
                                  const training::Recipe& recipe) {
    auto convention = training::find_convention("matrices-causal");
    if (!convention) {
        return propagate(convention);
    }
    auto flops = training::flops_per_token(shape, **convention);
    if (!flops) {
        return propagate(flops);
    }
    StepModel model{shape, machine, recipe};
    const auto matrices = training::layer_matrices(shape);
    model.plain_layer_ = per_parameter * (matrices.attention + matrices.mlp);
    if (shape.experts) {
        const auto through = as_double(shape.experts->active + shape.experts->shared);
        model.routed_layer_ = per_parameter * (matrices.attention + through * matrices.expert);
    }
    const auto plain = as_double(std::min(dense_layers(shape), shape.layers));
    const auto layers =
        plain * model.plain_layer_ + (as_double(shape.layers) - plain) * model.routed_layer_;
    model.core_ = flops->attention / as_double(shape.layers);
    model.end_ = flops->output + std::max(0.0, flops->layers - layers);
    return model;
}

/// Bytes a second that a rank of a group sends, where neighbours are `inner` ranks apart: over
/// NVLink while all of them are in one domain, else over the NICs of its members in a domain.
double StepModel::group_rate(double inner, double ranks) const {
    const auto members = std::clamp(as_double(machine_->domain) / inner, 1.0, std::max(1.0, ranks));
    return members >= ranks && inner * ranks <= as_double(machine_->domain)
               ? machine_->scale_up_bytes_per_s
               : std::min(machine_->scale_up_bytes_per_s, members * machine_->network_bytes_per_s);
}

StepModel::Microbatch StepModel::microbatch_of(const Layout& layout) const {
    Microbatch out;
    const auto sequence = as_double(layout.sequence != 0 ? layout.sequence : shape_->sequence);
    out.t = as_double(layout.tp);
    out.tokens = sequence * as_double(layout.microbatch) / as_double(layout.cp);
    auto keeping = layout;
    keeping.recompute = Recompute::none;
    if (dense_layers(*shape_) > 0) {
        out.plain_kept = training::layer_activations(*shape_, keeping, 0).kept;
    }
    if (shape_->experts) {
        out.routed_kept = training::layer_activations(*shape_, keeping, dense_layers(*shape_)).kept;
    }
    const auto state = half * out.tokens * as_double(shape_->hidden);
    if (layout.tp > 1) {
        fabric::System system;
        system.gpus_per_node = layout.tp;
        out.tensor = state * (out.t - 1) / out.t / group_rate(1, out.t) +
                     micro * fabric::latency_us(system, fabric::Collective::all_gather,
                                                fabric::Algorithm::ring, fabric::Protocol::simple);
    }
    const auto cp = as_double(layout.cp);
    if (layout.cp > 1) {
        const auto width =
            shape_->latent ? as_double(shape_->latent->key_value_rank + shape_->latent->rope_head)
                           : 2 * as_double(shape_->head_width()) *
                                 std::max(1.0, as_double(shape_->kv_heads()) / out.t);
        // Forward keys and values go round; backward they and their gradients do.
        out.ring = 3 * (cp - 1) * half * out.tokens * width / group_rate(out.t, cp);
    }
    if (layout.ep > 1 && shape_->experts) {
        const auto ep = as_double(layout.ep);
        const auto inner = out.t * cp;
        const auto near = std::clamp(as_double(machine_->domain) / inner, 1.0, ep);
        const auto sent = state * as_double(shape_->experts->active) / out.t;
        out.all_to_all = sent / ep *
                         ((near - 1) / machine_->scale_up_bytes_per_s +
                          (ep - near) / machine_->network_bytes_per_s);
    }
    if (layout.pp > 1) {
        const auto inner = out.t * cp * as_double(layout.ep * layout.dp);
        out.send = state / (layout.sequence_parallel ? out.t : 1) /
                   (inner * as_double(layout.pp) <= as_double(machine_->domain)
                        ? machine_->scale_up_bytes_per_s
                        : machine_->network_bytes_per_s);
    }
    return out;
}

/// One microbatch on one stage.
StepTime StepModel::stage_time(const Layout& layout, const Microbatch& microbatch,
                               std::uint64_t stage) const {
    const auto layers = training::layers_of(*shape_, layout, stage);
    const auto border = std::clamp(dense_layers(*shape_), layers.begin, layers.end);
    const auto plain = as_double(border - layers.begin);
    const auto routed = as_double(layers.end - border);
    const bool is_last = stage + 1 == layout.pp;
    const auto share = microbatch.tokens / microbatch.t;
    const auto rate = machine_->peak_flops * machine_->matmul_share;
    const auto in_layers = share * (plain * plain_layer_ + routed * routed_layer_) / rate;
    const auto bandwidth = machine_->accelerator->memory_bytes_per_s;
    const auto kept = plain * microbatch.plain_kept + routed * microbatch.routed_kept;
    const auto parameters = training::parameters_of(*shape_, layout, stage);
    // Weights are read forward and backward; gradients are added to, so read and written.
    const auto weight_bytes = 2 * recipe_->weights + 2 * recipe_->gradients;

    StepTime out;
    out.stage = stage;
    out.matmul = in_layers + (is_last ? share * end_ / rate : 0);
    out.attention = share * (plain + routed) * core_ / (machine_->peak_flops * attention_share);
    out.memory = (weight_bytes * (parameters.common + parameters.experts) + passes * kept +
                  (is_last ? passes * training::logit_bytes(*shape_, layout) : 0)) /
                 bandwidth;
    const bool is_full = layout.recompute == Recompute::full;
    if (is_full) {
        out.recomputation = forward * (in_layers + out.attention) + kept / bandwidth;
    } else if (layout.recompute == Recompute::selective && !layout.flash_attention) {
        out.recomputation = forward * out.attention;
    }
    const auto ends = (stage == 0 ? 2.0 : 0.0) + (is_last ? 2.0 : 0.0);  // embedding, logits
    out.tensor =
        microbatch.tensor * ((plain + routed) * tensor_collectives * (is_full ? 1.5 : 1) + ends);
    out.context = std::max(0.0, (plain + routed) * microbatch.ring - out.attention);
    out.expert = routed * microbatch.all_to_all * (is_full ? 6 : 4);
    out.pipeline = 2 * as_double(layout.interleave) * microbatch.send;
    return out;
}

/// What data parallelism takes beyond the pass that hides it: gradients the backward pass of the
/// last microbatch, weights the forward pass of the first; with gradients or weights in shards
/// those of each microbatch.
double StepModel::data_time(const Layout& layout, double parameters, double copies,
                            double inner) const {
    if (copies <= 1 || parameters <= 0) {
        return 0;
    }
    const auto traffic = training::gradient_traffic(parameters, *recipe_, layout.sharding, copies);
    return (traffic.reduce_scatter + traffic.all_gather) / group_rate(inner, copies);
}

/// From one microbatch to the step.
void StepModel::finish(const Layout& layout, StepTime& time) const {
    const auto work = time.matmul + time.attention + time.memory;
    const auto one = time.total();
    const auto count = as_double(layout.microbatches);
    for (auto* part : {&time.matmul, &time.attention, &time.memory, &time.recomputation,
                       &time.tensor, &time.context, &time.expert, &time.pipeline}) {
        *part *= count;
    }
    time.bubble = as_double(layout.pp - 1) / as_double(layout.interleave) * one;

    const auto parameters = training::parameters_of(*shape_, layout, time.stage);
    const auto expert_copies = as_double(layout.cp * layout.dp);
    const auto copies = expert_copies * as_double(layout.ep);
    const auto t = as_double(layout.tp);
    const auto sent =
        data_time(layout, parameters.common, copies, t) +
        data_time(layout, parameters.experts, expert_copies, t * as_double(layout.ep));
    const auto common = training::gradient_traffic(1, *recipe_, layout.sharding, 2);
    const auto reduced = common.reduce_scatter / common.total();
    const auto each = layout.sharding >= Sharding::gradients ? count : 1;
    const auto gathers = layout.sharding == Sharding::weights ? count : 1;
    time.data = each * std::max(0.0, sent * reduced - backward * work) +
                gathers * std::max(0.0, sent * (1 - reduced) - forward * work);

    const auto owned = layout.sharding == Sharding::none
                           ? parameters.common + parameters.experts
                           : parameters.common / copies + parameters.experts / expert_copies;
    time.optimizer = owned * (2 * recipe_->optimizer + recipe_->gradients + recipe_->weights) /
                     machine_->accelerator->memory_bytes_per_s;
}

StepTime StepModel::time_of(const Layout& layout) const {
    const auto microbatch = microbatch_of(layout);
    auto slowest = stage_time(layout, microbatch, 0);
    for (const auto stage : {std::uint64_t{1}, layout.pp - 1}) {
        if (stage > 0 && stage < layout.pp) {
            const auto time = stage_time(layout, microbatch, stage);
            slowest = time.total() > slowest.total() ? time : slowest;
        }
    }
    finish(layout, slowest);
    return slowest;
}

}  // namespace railhead::plan
