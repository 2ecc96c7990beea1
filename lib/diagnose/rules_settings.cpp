// Rules on the other settings of a run: how it computes, loads and saves.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/interval.hpp"
#include "checkpoint/mtbf.hpp"
#include "diagnose/framework.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/run_setup.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

/// The MFU of a run that can be, as the waterfall shows it; null where none is known.
const training::MfuAnswer* usable_mfu(const Facts& facts) {
    const auto* training = facts.main_training();
    const bool usable = training != nullptr && training->mfu &&
                        training->mfu->judgement.doubt < training::Doubt::warning;
    return usable ? &*training->mfu : nullptr;
}

double mfu_now(const Facts& facts) {
    const auto* mfu = usable_mfu(facts);
    return mfu != nullptr ? mfu->utilization.mfu * facts.main_training()->speed_now() : 0;
}

/// The matrix product of a layer that has least to do for a byte: [rows x h] by [h x n].
struct Product {
    double rows = 0, inner = 0, columns = 0;
    /// FLOPs for a byte that is read or written, of 16-bit elements.
    [[nodiscard]] double intensity() const {
        return rows * inner * columns / (rows * inner + inner * columns + rows * columns);
    }
};

Finding find_small_batch(const Facts& facts) {
    const RunSetup setup{facts};
    const auto micro = setup.value(Topic::micro_batch);
    if (!micro) {
        return unknown({Input::run_arguments});
    }
    const auto* mfu = usable_mfu(facts);
    if (mfu == nullptr || mfu->shape.hidden == 0) {
        return unknown({Input::model_flops});
    }
    const auto hidden = static_cast<double>(mfu->shape.hidden);
    const Product product{
        *micro * static_cast<double>(mfu->shape.sequence) / setup.ways(Topic::context_parallel),
        hidden, hidden / setup.ways(Topic::tensor_parallel)};
    const double ridge = mfu->utilization.peak_tflops * 1e12 / mfu->accelerator->memory_bytes_per_s;
    if (!(product.rows > 0) || !(product.intensity() < ridge)) {
        return not_found();
    }
    const double share = mfu_now(facts) * (ridge / product.intensity() - 1);
    auto finding = found_setting(
        facts, Confidence::likely,
        fmt::format(
            "Matrix products of {:.0f} rows ({:g} sequences at once) have {:.0f} FLOPs for a "
            "byte, and {} needs {:.0f} to compute as fast as it reads: memory sets the "
            "pace.",
            product.rows, *micro, product.intensity(), mfu->accelerator->name, ridge),
        setup.at(Topic::micro_batch), std::min(share, 1 - mfu_now(facts)));
    auto larger = product;
    double size = *micro;
    constexpr double most = 1024;
    while (larger.intensity() < ridge && size < most) {
        size *= 2;
        larger.rows *= 2;
    }
    finding.fix = {
        setting_for(Remedy::larger_micro_batch, framework_of(facts), fmt::format("{:.0f}", size)),
        "less tensor parallelism makes matrices wider"};
    return finding;
}

Finding find_plain_attention(const Facts& facts) {
    const RunSetup setup{facts};
    const auto flash = setup.value(Topic::flash_attention);
    if (!flash) {
        return unknown({Input::run_arguments});
    }
    if (*flash != 0) {
        return not_found();
    }
    std::optional<double> share;
    std::string arithmetic;
    const auto* mfu = usable_mfu(facts);
    if (mfu != nullptr && mfu->shape.heads > 0 && mfu->shape.sequence > 0) {
        // 16-bit scores and weights are each written and read at least once forward, and twice as
        // often backward: 24 bytes for a pair of tokens, head and layer.
        constexpr double bytes_a_score = 24;
        const double speed = facts.main_training()->speed_now();
        const double tokens = mfu->rate.tokens_per_s * speed / mfu->rate.gpus;
        const double bytes = bytes_a_score * static_cast<double>(mfu->shape.heads) *
                             static_cast<double>(mfu->shape.sequence) *
                             static_cast<double>(mfu->shape.layers);
        share = std::min(bytes * tokens / mfu->accelerator->memory_bytes_per_s, 1 - mfu_now(facts));
        arithmetic = fmt::format(
            ": at least 24 bytes x {} heads x {} keys x {} layers a token, {:.0f} tokens/s a GPU, "
            "at "
            "{:.0f} GB/s",
            mfu->shape.heads, mfu->shape.sequence, mfu->shape.layers, tokens,
            mfu->accelerator->memory_bytes_per_s / 1e9);
    }
    auto finding =
        found_setting(facts, Confidence::likely,
                      "Attention writes its scores to memory and reads them again (no flash "
                      "attention, arXiv:2205.14135).",
                      setup.at(Topic::flash_attention), share);
    finding.expected = finding.expected.empty() ? "memory and time that grow with the sequence, "
                                                  "not with its square"
                                                : finding.expected + arithmetic;
    finding.fix = {setting_for(Remedy::flash_attention, framework_of(facts))};
    return finding;
}

Finding find_wide_matrices(const Facts& facts) {
    const RunSetup setup{facts};
    const auto fp32 = setup.value(Topic::fp32);
    const bool is_narrow = setup.value(Topic::bf16) == 1.0 || setup.value(Topic::fp16) == 1.0 ||
                           setup.value(Topic::fp8) == 1.0;
    if (!fp32 && !is_narrow) {
        return unknown({Input::run_arguments});
    }
    if (is_narrow || *fp32 == 0) {
        return not_found();
    }
    std::optional<double> share;
    std::string speeds = "matrix products at twice TF32's speed, sixteen times that of FP32 (A100)";
    const auto* gpu = facts.hardware.accelerator;
    if (gpu != nullptr && gpu->bf16_tflops && gpu->tf32_tflops) {
        speeds = fmt::format(
            "matrix products at {:.0f} TFLOP/s (BF16) in place of {:.0f} (TF32) or "
            "{:.0f} (FP32)",
            *gpu->bf16_tflops, *gpu->tf32_tflops, gpu->fp32_tflops.value_or(*gpu->tf32_tflops));
        share = std::min(mfu_now(facts) * (*gpu->bf16_tflops / *gpu->tf32_tflops - 1),
                         1 - mfu_now(facts));
    }
    auto finding = found_setting(facts, Confidence::certain, "Matrices have 32 bits.",
                                 setup.at(Topic::fp32), share);
    finding.role = Role::cause;
    finding.expected += (finding.expected.empty() ? "" : ", at least: ") + speeds;
    finding.fix = {setting_for(Remedy::sixteen_bits, framework_of(facts)),
                   "torch.backends.cuda.matmul.allow_tf32 = True where 32 bits have to stay"};
    return finding;
}

Finding find_few_loaders(const Facts& facts) {
    const RunSetup setup{facts};
    const auto workers = setup.value(Topic::loader_workers);
    const auto pinned = setup.value(Topic::pinned_memory);
    if (!workers && !pinned) {
        return unknown({Input::run_arguments});
    }
    const bool none = workers == 0.0;
    if (!none && pinned != 0.0) {
        return not_found();
    }
    auto finding = found(
        Confidence::possible,
        none ? "No process loads samples ahead: the rank loads each batch itself, between steps."
             : "Samples are copied to the GPU from memory that is not pinned: the copy waits.",
        setup.at(none ? Topic::loader_workers : Topic::pinned_memory));
    finding.role = Role::advice;
    finding.fix = {setting_for(Remedy::more_loaders, framework_of(facts), "4")};
    finding.expected =
        "up to half of the step where samples set the pace (arXiv:2007.06775); a trace of "
        "PyTorch's "
        "profiler tells";
    return finding;
}

/// How long training stands still for a checkpoint, by the log: the median.
std::optional<double> checkpoint_s(const TrainingFacts& training) {
    std::vector<double> times;
    for (const auto& event : training.run().events) {
        if (event.kind == training::EventKind::checkpoint_save &&
            event.duration_s.value_or(0) > 0) {
            times.push_back(*event.duration_s);
        }
    }
    if (times.empty()) {
        return std::nullopt;
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

/// Checkpoints of this cost on the run's nodes, at the usual failure rate.
std::optional<checkpoint::Timing> timing_of(double cost_s, double nodes) {
    constexpr double most = 1e6;
    const auto mtbf =
        checkpoint::gang_mtbf_s(checkpoint::usual_rate().per_1000_node_days,
                                static_cast<std::uint64_t>(std::clamp(nodes, 1.0, most)));
    if (!mtbf) {
        return std::nullopt;
    }
    const auto timing = checkpoint::Timing::make({*mtbf, cost_s, 0, 0});
    return timing ? std::optional{*timing} : std::nullopt;
}

/// The finding on checkpoints each `steps` steps of `step_s`.
Finding judge_interval(const Facts& facts, const RunSetup& setup, double steps, double step_s,
                       const checkpoint::Timing& timing) {
    const double best = checkpoint::optimum_s(timing);
    const auto now = checkpoint::shares_of(timing, steps * step_s);
    const auto then = checkpoint::shares_of(timing, best);
    constexpr double twice = 2;
    constexpr double least = 0.01;
    if (now.waste() < twice * then.waste() || now.waste() - then.waste() < least) {
        return not_found();
    }
    auto finding =
        found(Confidence::possible,
              fmt::format(
                  "A checkpoint each {:.0f} steps is one in {:.1f} min; with {:.1f} s a checkpoint "
                  "and a failure in {:.0f} h (rate of {}) the best is {:.1f} min.",
                  steps, steps * step_s / 60, timing.cost_s(), timing.mtbf_s() / 3600,
                  checkpoint::usual_rate().name, best / 60),
              setup.at(Topic::save_interval));
    finding.role = Role::advice;
    finding.fix = {setting_for(Remedy::save_interval, framework_of(facts),
                               fmt::format("{:.0f}", std::max(1.0, std::round(best / step_s)))),
                   "railhead ckpt with the job's own failures and restart"};
    finding.expected = fmt::format(
        "{:.1f} % of the time lost to checkpoints and failures in place "
        "of {:.1f} % (Daly)",
        then.waste() * 100, now.waste() * 100);
    return finding;
}

Finding find_interval(const Facts& facts) {
    const RunSetup setup{facts};
    const auto steps = setup.value(Topic::save_interval);
    constexpr double most = 1e9;
    if (!steps || !(*steps > 0 && *steps < most)) {
        return unknown({Input::run_arguments});
    }
    const auto* training = facts.main_training();
    if (training == nullptr || training->summary.measure != training::Measure::step_s ||
        training->summary.timed == 0) {
        return unknown({Input::step_times});
    }
    const auto cost = checkpoint_s(*training);
    if (!cost) {
        return unknown({Input::checkpoints});
    }
    const auto gpus = setup.gpus();
    const auto node = static_cast<double>(facts.gpus_per_node());
    const auto timing = gpus && node > 0 ? timing_of(*cost, std::ceil(*gpus / node)) : std::nullopt;
    return timing ? judge_interval(facts, setup, *steps, training->summary.time.median, *timing)
                  : unknown({Input::accelerator});
}

constexpr std::string_view of_settings[] = {"low-mfu"};

constexpr Rule rules[] = {
    {"small-batch", "matrix products that are too small",
     "a GPU that waits for its memory does not compute", of_settings, find_small_batch},
    {"no-flash-attention", "attention that writes its scores to memory",
     "memory is ten times slower than the matrix units", of_settings, find_plain_attention},
    {"fp32-matrices", "matrices of 32 bits", "16 bits are computed twice to sixteen times as fast",
     of_settings, find_wide_matrices},
    {"few-loaders",
     "samples that nobody loads ahead",
     "GPUs have nothing to do until the next batch is there",
     {},
     find_few_loaders},
    {"checkpoint-interval",
     "checkpoints far more or less often than is best",
     "each costs time, and a failure all that was done since the last",
     {},
     find_interval},
};

}  // namespace

std::span<const Rule> setting_rules() {
    return rules;
}

}  // namespace railhead::diagnose
