// Rules on how a model is laid over GPUs, by its log and its configuration, and on its MFU.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "diagnose/checklist_costs.hpp"
#include "diagnose/framework.hpp"
#include "diagnose/network_costs.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/run_setup.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

/// The most chunks, up to four, that the layers of a stage divide into; 1: none.
double chunks_for(std::optional<double> layers, double stages) {
    for (const double chunks : {4.0, 3.0, 2.0}) {
        if (!layers || std::fmod(*layers, stages * chunks) == 0) {
            return chunks;
        }
    }
    return 1;
}

/// "--num-layers-per-virtual-pipeline-stage 5", or NeMo's number of chunks.
std::string interleave_fix(const Facts& facts, std::optional<double> layers, double stages,
                           double chunks) {
    const auto framework = framework_of(facts);
    const auto value = framework == Framework::nemo ? fmt::format("{:.0f}", chunks)
                       : layers ? fmt::format("{:.0f}", *layers / stages / chunks)
                                : std::string{"(layers / stages / 4)"};
    return fmt::format("{}   # {:.0f} chunks a stage",
                       setting_for(Remedy::interleave, framework, value), chunks);
}

Finding find_bubble(const Facts& facts) {
    const RunSetup setup{facts};
    if (setup.is_empty()) {
        return unknown({Input::run_arguments});
    }
    const auto stages = setup.value(Topic::pipeline_parallel);
    const auto microbatches = setup.microbatches();
    if (!stages || (*stages > 1 && !microbatches)) {
        return unknown({Input::run_arguments});
    }
    constexpr double worth_a_look = 0.10;
    const auto now = setup.chunks();
    const double idle = *stages > 1 ? pipeline_bubble(*stages, *microbatches, now.value_or(1)) : 0;
    if (idle < worth_a_look) {
        return not_found();
    }
    const auto layers = setup.value(Topic::layers);
    const double chunks = now.value_or(1) > 1 ? *now : chunks_for(layers, *stages);
    const double stays = pipeline_bubble(*stages, *microbatches, chunks);
    const double share = idle - stays;
    auto finding = found_setting(
        facts, Confidence::likely,
        fmt::format("The pipeline of {:.0f} stages has {:.0f} micro-batches: it is idle for {:.1f} "
                    "% of a step, (p - 1) / (v m + p - 1) with {}.",
                    *stages, *microbatches, idle * 100,
                    now ? fmt::format("v = {:.0f}", *now)
                        : std::string{"v = 1, unless its stages are interleaved"}),
        setup.at(Topic::pipeline_parallel), share > 0 ? std::optional{share} : std::nullopt);
    finding.stays = share > 0 ? stays : 0;
    if (share > 0) {
        finding.fix.push_back(interleave_fix(facts, layers, *stages, chunks));
        finding.expected = fmt::format("{}; idle {:.1f} % with {:.0f} chunks a stage",
                                       expected_text(facts, share), stays * 100, chunks);
    } else {
        const double twice = pipeline_bubble(*stages, 2 * *microbatches, chunks);
        finding.expected =
            fmt::format("idle {:.1f} % with twice as many micro-batches", twice * 100);
    }
    finding.fix.emplace_back("more micro-batches: a larger global batch, or fewer replicas");
    finding.fix.emplace_back(
        "fewer stages: a sharded optimizer or more tensor parallelism makes room");
    return finding;
}

Finding find_tensor_across(const Facts& facts) {
    const RunSetup setup{facts};
    const auto ways = setup.value(Topic::tensor_parallel);
    if (!ways) {
        return unknown({Input::run_arguments});
    }
    if (*ways <= 1) {
        return not_found();
    }
    const auto node = static_cast<double>(facts.gpus_per_node());
    if (node == 0) {
        return unknown({Input::accelerator});
    }
    if (*ways <= node) {
        return not_found();
    }
    auto finding =
        found(Confidence::certain,
              fmt::format("Tensor parallelism of {:.0f} is wider than a node of {:.0f} GPUs: four "
                          "all-reduces a layer go over the network.",
                          *ways, node),
              setup.at(Topic::tensor_parallel));
    finding.fix = {
        setting_for(Remedy::tensor_within_node, framework_of(facts), fmt::format("{:.0f}", node)) +
        ", and more pipeline stages"};
    finding.expected = "railhead size tells the step of a layout before it is run";
    const auto run = sizes_of_run(facts, setup);
    if (run && *ways <= setup.gpus().value_or(0) && run->hidden > 0 &&
        run->scale_up_bytes_per_s > 0) {
        const double slow = run->node_bytes_per_s / run->gpus_per_node;
        const double share = tensor_traffic(*run, *ways, slow) -
                             tensor_traffic(*run, node, run->scale_up_bytes_per_s);
        finding.step_share = std::clamp(share, 0.0, run->lost);
        finding.expected = fmt::format(
            "{}; all-reduces take {:.1f} % of the step at {:.1f} GB/s a GPU, {:.1f} % within a "
            "node "
            "at {:.0f} GB/s{}",
            expected_text(facts, *finding.step_share), tensor_traffic(*run, *ways, slow) * 100,
            slow / 1e9, tensor_traffic(*run, node, run->scale_up_bytes_per_s) * 100,
            run->scale_up_bytes_per_s / 1e9,
            share > run->lost ? "; no more than what is lost is promised" : "");
    }
    return finding;
}

Finding find_recompute(const Facts& facts) {
    const RunSetup setup{facts};
    const auto full = setup.value(Topic::full_recompute);
    if (!full && !setup.value(Topic::selective_recompute)) {
        return unknown({Input::run_arguments});
    }
    if (full != 1.0) {
        return not_found();
    }
    const auto* training = facts.main_training();
    // Of four parts, forward, twice that backward, and forward again, the last; selective leaves 4
    // % of three.
    constexpr double selective = 0.04;
    const bool is_possible = training != nullptr && training->mfu &&
                             training->mfu->judgement.doubt < training::Doubt::warning;
    const double matmuls = is_possible ? training->mfu->utilization.mfu * training->speed_now() : 0;
    const double share = matmuls * (1.0 / 3 - selective);
    auto finding = found_setting(
        facts, Confidence::certain,
        "Activations of whole layers are computed again: a third more FLOPs, of which MFU counts "
        "none (39 % more time as measured, arXiv:2205.05198).",
        setup.at(Topic::full_recompute), share > 0 ? std::optional{share} : std::nullopt);
    finding.expected = share > 0
                           ? expected_text(facts, share) + ", at least: the matmuls at their peak"
                           : "up to 1 - 3.12 / 4 = 22 % less time, where compute sets the pace";
    finding.fix = {setting_for(Remedy::no_full_recompute, framework_of(facts)),
                   "a sharded optimizer makes room for activations: railhead size says how much"};
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
    if (!is_low_mfu(facts)) {
        return not_found();
    }
    const auto& counted = training::counted_as(*best, mfu);
    auto finding =
        found(Confidence::certain,
              fmt::format("The MFU is {:.1f} % by convention \"{}\", less than half of the best "
                          "published of {}: {:.1f} % ({}).",
                          counted.mfu * 100, counted.convention->name, mfu.accelerator->name,
                          best->share * 100, best->source),
              {training->at(training->run().first_line)});
    finding.role = Role::symptom;
    finding.fix = {
        fmt::format("railhead diagnose --mfu {:.0f} --gpus {:.0f} --accelerator {}   # "
                    "what to look for first",
                    std::max(1.0, counted.mfu * 100), mfu.rate.gpus, mfu.accelerator->name)};
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
