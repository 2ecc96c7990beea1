// Rules on how a model is laid over GPUs, from the arguments in its log, and on its MFU.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/checklist_costs.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

Evidence line_of(const TrainingFacts& training, Topic topic) {
    const auto* fact = training.run().fact(topic);
    return training.at(fact != nullptr ? fact->line : 0);
}

Finding advice(Confidence confidence, std::string what, std::vector<Evidence> evidence) {
    auto finding = found(confidence, std::move(what), std::move(evidence));
    finding.role = Role::advice;
    return finding;
}

/// Sequences of a replica in a step, in micro-batches.
std::optional<double> microbatches_of(const TrainingFacts& training) {
    const auto batch = training.said(Topic::global_batch);
    const auto micro = training.said(Topic::micro_batch);
    const auto world = training.said(Topic::world_size);
    const auto tp = training.said(Topic::tensor_parallel).value_or(1);
    const auto pp = training.said(Topic::pipeline_parallel).value_or(1);
    const auto cp = training.said(Topic::context_parallel).value_or(1);
    if (!batch || !micro || !world || !(*micro > 0) || !(*world > 0)) {
        return std::nullopt;
    }
    const double replicas = training.said(Topic::data_parallel).value_or(*world / (tp * pp * cp));
    return replicas > 0 ? std::optional{*batch / (*micro * replicas)} : std::nullopt;
}

Finding find_bubble(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    const auto stages = training->said(Topic::pipeline_parallel);
    const auto microbatches = microbatches_of(*training);
    if (!stages || (*stages > 1 && !microbatches)) {
        return unknown({Input::run_arguments});
    }
    constexpr double worth_a_look = 0.10;
    const double idle = *stages > 1 ? pipeline_bubble(*stages, *microbatches, 1) : 0;
    if (idle < worth_a_look) {
        return not_found();
    }
    constexpr double chunks = 4;
    const double share = idle - pipeline_bubble(*stages, *microbatches, chunks);
    auto finding = advice(
        Confidence::likely,
        fmt::format("The pipeline of {:.0f} stages has {:.0f} micro-batches: it is idle for {:.1f} "
                    "% of a step, (p - 1) / (m + p - 1), unless its stages are interleaved.",
                    *stages, *microbatches, idle * 100),
        {line_of(*training, Topic::pipeline_parallel)});
    finding.step_share = share;
    finding.fix = {"--num-layers-per-virtual-pipeline-stage: four chunks a stage idle a quarter",
                   "more micro-batches: a larger global batch, or fewer replicas",
                   "fewer stages: a sharded optimizer or more tensor parallelism makes room"};
    finding.expected = expected_text(facts, share) + ", with four chunks a stage";
    return finding;
}

Finding find_tensor_across(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    const auto ways = training->said(Topic::tensor_parallel);
    if (!ways) {
        return unknown({Input::run_arguments});
    }
    if (*ways <= 1) {
        return not_found();
    }
    const auto node = facts.gpus_per_node();
    if (node == 0) {
        return unknown({Input::accelerator});
    }
    if (*ways <= static_cast<double>(node)) {
        return not_found();
    }
    auto finding =
        found(Confidence::certain,
              fmt::format(
                  "Tensor parallelism of {:.0f} is wider than a node of {} GPUs: four all-reduces "
                  "a layer go over the network.",
                  *ways, node),
              {line_of(*training, Topic::tensor_parallel)});
    finding.fix = {fmt::format("--tensor-model-parallel-size {} and more pipeline stages", node)};
    finding.expected = "railhead size tells the step of a layout before it is run";
    return finding;
}

Finding find_recompute(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    const auto full = training->said(Topic::full_recompute);
    if (!full && !training->said(Topic::selective_recompute)) {
        return unknown({Input::run_arguments});
    }
    if (full != 1.0) {
        return not_found();
    }
    auto finding = advice(
        Confidence::certain,
        "Activations of whole layers are computed again: a third more FLOPs, of which MFU counts "
        "none (39 % more time as measured, arXiv:2205.05198).",
        {line_of(*training, Topic::full_recompute)});
    // Of four parts, forward, twice that backward, and forward again, the last; selective leaves 4
    // % of three.
    constexpr double selective = 0.04;
    const bool is_possible =
        training->mfu && training->mfu->judgement.doubt < training::Doubt::warning;
    const double matmuls = is_possible ? training->mfu->utilization.mfu : 0;
    const double share = matmuls * (1.0 / 3 - selective);
    if (share > 0) {
        finding.step_share = share;
        finding.expected = expected_text(facts, share) + ", at least: the matmuls at their peak";
    } else {
        finding.expected = "up to 1 - 3.12 / 4 = 22 % less time, where compute sets the pace";
    }
    finding.fix = {"--recompute-granularity selective --sequence-parallel, with flash attention",
                   "--use-distributed-optimizer makes room for activations"};
    return finding;
}

Finding find_low_mfu(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    if (!training->mfu) {
        return unknown({Input::model_flops});
    }
    const auto& mfu = *training->mfu;
    const auto* best = mfu.accelerator->highest(mfu.precision);
    if (best == nullptr) {
        return unknown({Input::accelerator});
    }
    constexpr double low = 0.5;
    if (mfu.utilization.mfu >= low * best->share) {
        return not_found();
    }
    auto finding = found(
        Confidence::certain,
        fmt::format("The MFU is {:.1f} %, less than half of the best published of {}: {:.1f} % "
                    "({}).",
                    mfu.utilization.mfu * 100, mfu.accelerator->name, best->share * 100,
                    best->source),
        {training->at(training->run().first_line)});
    finding.role = Role::symptom;
    finding.fix = {fmt::format(
        "railhead diagnose --mfu {:.0f} --gpus {:.0f} --accelerator {}   # "
        "what to look for first",
        std::max(1.0, mfu.utilization.mfu * 100), mfu.rate.gpus, mfu.accelerator->name)};
    finding.expected = fmt::format("MFU up to {:.1f} %, as published", best->share * 100);
    return finding;
}

Finding find_impossible_mfu(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    if (!training->mfu) {
        return unknown({Input::model_flops});
    }
    if (training->mfu->judgement.doubt < training::Doubt::warning) {
        return not_found();
    }
    auto finding =
        found(Confidence::certain,
              fmt::format("The MFU of {:.1f} % cannot be right: {}.",
                          training->mfu->utilization.mfu * 100, training->mfu->judgement.reason),
              {training->at(training->run().first_line)});
    finding.fix = {"railhead mfu LOG: what was taken for the model, the batch and the GPUs"};
    finding.expected = "an MFU to compare with others";
    return finding;
}

constexpr std::string_view of_layout[] = {"low-mfu"};

constexpr Rule rules[] = {
    {"tp-across-nodes", "tensor parallelism wider than a node",
     "the network is ten times slower than NVLink", of_layout, find_tensor_across},
    {"pipeline-bubble", "pipeline stages that wait for their neighbours",
     "a stage that waits is a GPU that waits", of_layout, find_bubble},
    {"full-recompute", "activations of whole layers that are computed twice",
     "it is a third more work of which nothing is kept", of_layout, find_recompute},
    {"impossible-mfu",
     "an MFU that no GPU can reach",
     "a wrong count of FLOPs hides what is slow",
     {},
     find_impossible_mfu},
    {"low-mfu",
     "an MFU of less than half of the best published",
     "it is the same work at twice the price",
     {},
     find_low_mfu},
};

}  // namespace

std::span<const Rule> layout_rules() {
    return rules;
}

}  // namespace railhead::diagnose
