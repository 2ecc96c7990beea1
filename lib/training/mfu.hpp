// How much of the hardware's peak a training run makes use of: MFU by the FLOPs that the model
// needs, HFU by those that the hardware does.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "training/accelerator.hpp"
#include "training/flops.hpp"
#include "training/shape.hpp"

namespace railhead::training {

/// How fast a model is trained, on what.
struct Rate {
    double tokens_per_s = 0;  ///< of all GPUs together
    double gpus = 0;
    double peak_tflops = 0;  ///< dense, of one GPU, in the precision of the matrices
    Recompute recompute = Recompute::none;
};

/// Tokens a second of a step of `step_s` seconds over `sequences` of `sequence` tokens.
[[nodiscard]] Result<double> tokens_per_s(double sequences, double sequence, double step_s);

/// Shares of the dense peak, and what they are made of.
struct Utilization {
    double mfu = 0;                       ///< 0.46
    double hfu = 0;                       ///< as mfu where nothing is recomputed
    double model_flops_per_token = 0;     ///< forward and backward
    double hardware_flops_per_token = 0;  ///< with what is recomputed
    double model_tflops_per_gpu = 0;
    double peak_tflops = 0;
    const Convention* convention = nullptr;  ///< of all of these figures
    Recompute recompute = Recompute::none;
};

/// FLOPs per token x tokens/s / (GPUs x dense peak); PaLM, arXiv:2204.02311, appendix B.  FP8 runs
/// are measured against the FP8 peak: that of Rate.
///
/// Fails with `bad_input` where a figure of the rate is not above 0, or flops_per_token() fails.
[[nodiscard]] Result<Utilization> utilization(const Shape& shape, const Rate& rate,
                                              const Convention& convention);

/// The utilization of a run that reports its FLOP/s itself: TFLOP/s of one GPU over the peak.
[[nodiscard]] Result<double> share_of_peak(double tflops_per_gpu, double peak_tflops);

/// The days that `tokens` take: SC21, arXiv:2104.04473v5, eq 4: 8 T P / (n X) with full
/// recomputation, for a model of P parameters on n GPUs of X FLOP/s each.
[[nodiscard]] double sc21_days(double parameters, double tokens, double gpus,
                               double flops_per_s_per_gpu);

/// The utilization of the run by `convention`, `about` or one of `others`; `about` where none is by
/// it, or it is empty.
[[nodiscard]] const Utilization& counted_as(std::string_view convention, const Utilization& about,
                                            std::span<const Utilization> others);

/// What is to be thought of a utilization.
enum class Doubt {
    none,
    question,   ///< above all that was published
    warning,    ///< above what the best matmul reaches
    impossible  ///< above the dense peak
};

struct Judgement {
    Doubt doubt = Doubt::none;
    std::string reason;  ///< one sentence, with its source; empty where there is no doubt
};

/// Compares a utilization with the highest published MFU of the accelerator in this precision, with
/// the ceiling that was measured for its matmuls, and with the peak.  What a catalogue does not
/// know raises no doubt.  Below the peak nothing is impossible.
///
/// The published MFU is compared with that of the same run by the same convention, which `others`
/// may have; where they have not, with `utilization` as it is.
[[nodiscard]] Judgement judge(const Utilization& utilization, const Accelerator& accelerator,
                              Precision precision, std::span<const Utilization> others = {});

}  // namespace railhead::training
