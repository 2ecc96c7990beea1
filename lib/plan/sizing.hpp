// How many GPUs train a model on so many tokens in so many days, and what else that takes.  What
// `railhead size` answers.
//
// The count follows from FLOPs, the peak and an MFU (given, or of a published run), over a goodput
// that is a fixed point: more GPUs fail more often.  All else follows from the count and a layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/recommend.hpp"
#include "fabric/plan.hpp"
#include "plan/layouts.hpp"
#include "plan/machine.hpp"
#include "plan/published_runs.hpp"
#include "plan/sizing_network.hpp"
#include "training/flops.hpp"

namespace railhead::plan {

/// `model` and `machine` are needed; what is absent is assumed, and said so in the answer.
struct SizeQuestion {
    training::Shape model;
    Machine machine;
    const training::Recipe* recipe = nullptr;          ///< default: adam-mixed-fp32-grads
    const training::Convention* convention = nullptr;  ///< default: the first of conventions()
    std::optional<double> tokens;                      ///< default: the model's own, or 20 N
    std::optional<double> days;                        ///< default: 14, where GPUs are not said
    std::optional<std::uint64_t> gpus;                 ///< in place of days: how long do they take?
    std::optional<double> mfu;
    std::optional<double> tokens_per_s_per_gpu;  ///< in place of an MFU
    std::optional<double> batch_tokens;
    std::optional<std::uint64_t> batch;  ///< sequences, in place of batch_tokens
    std::optional<std::uint64_t> tp, pp, cp, ep, microbatch;

    std::optional<double> goodput;  ///< in place of what follows from failures
    std::optional<double> per_1000_node_days;
    const checkpoint::FailureRate* published_rate = nullptr;
    std::optional<double> checkpoint_cost_s, storage_bytes_per_s, restart_s, repair_s;
    std::optional<double> pue;
    std::size_t layouts = 5;  ///< that are told
};

/// A number of GPUs, and how long it takes.
struct Count {
    std::uint64_t gpus = 0, nodes = 0;
    double goodput = 1;
    double step_s = 0;  ///< by the MFU
    double tokens_per_s = 0;
    double days = 0;  ///< with the goodput
};

/// The count that was rounded to nodes, run with another batch.
struct OtherBatch {
    std::uint64_t sequences = 0;
    double tokens = 0;
    RankedLayout layout;
};

/// What would become of the count if a figure were another.
struct Sensitivity {
    std::string what;  ///< "MFU 35 %"
    Count count;       ///< that keeps to the days
    double days = 0;   ///< that the chosen count takes
};

struct Power {
    double node_w = 0;
    double pue = 1;
    double total_w = 0;  ///< with the PUE
    double energy_wh = 0;
};

struct SizeAnswer {
    SizeQuestion question;  ///< without gaps, but for goodput and layouts
    double parameters = 0;  ///< counted
    double flops_per_token = 0;
    double steps = 0;
    double mfu = 0;
    double raw_gpus = 0;                    ///< without failures, before rounding
    const PublishedRun* run = nullptr;      ///< where the MFU is its
    Count rounded;                          ///< up to whole nodes
    std::optional<Count> with_layout;       ///< the next with a layout that fits and is fast enough
    bool is_fast_enough = false;            ///< that layout, as modelled, for the MFU
    std::optional<OtherBatch> other_batch;  ///< nearest that gives `rounded` a layout, or a better
    LayoutSearch layouts;                   ///< of with_layout
    std::optional<Gradients> gradients;
    std::optional<RailNeed> rails;
    std::optional<fabric::Plan> fabric;
    std::optional<checkpoint::Recommendation> checkpoint;  ///< of the chosen count
    double failures = 0;
    double repair_s = 0;
    std::uint64_t spares = 0;  ///< nodes
    Power power;
    std::vector<Sensitivity> sensitivity;
    std::vector<fabric::AssumedFigure> assumed;
    std::vector<std::string> notes;

    /// What all that follows from a count is about.
    [[nodiscard]] const Count& chosen() const { return with_layout ? *with_layout : rounded; }
};

/// Fails with `bad_input` where tokens, days, MFU or batch mean nothing, or no number of GPUs gets
/// there since they fail too often; with `not_found` where no MFU was said and no run of the
/// accelerator was published.
[[nodiscard]] Result<SizeAnswer> size_cluster(SizeQuestion question);

}  // namespace railhead::plan
