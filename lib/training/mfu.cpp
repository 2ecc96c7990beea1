#include "training/mfu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace railhead::training {

namespace {

constexpr double tera = 1e12;

Result<void> check_positive(std::string_view name, double value) {
    if (!(value > 0) || !std::isfinite(value)) {
        return fail(Errc::bad_input, fmt::format("{} must be above 0, not {}", name, value));
    }
    return {};
}

std::string convention_text(const Utilization& about) {
    return fmt::format("convention \"{}\"", about.convention->name);
}

Judgement impossible(const Utilization& about, Precision precision) {
    return {Doubt::impossible,
            fmt::format("an MFU of {:.1f} % is above the dense {} peak of {:.4g} TFLOP/s: are all "
                        "GPUs counted, is it the peak of the precision that the matrices have, and "
                        "does {} count what this model does?",
                        about.mfu * 100, to_string(precision), about.peak_tflops,
                        convention_text(about))};
}

}  // namespace

Result<double> tokens_per_s(double sequences, double sequence, double step_s) {
    for (const auto& [name, value] :
         {std::pair{"the batch", sequences}, std::pair{"the sequence length", sequence},
          std::pair{"the step time", step_s}}) {
        if (auto right = check_positive(name, value); !right) {
            return propagate(right);
        }
    }
    return sequences * sequence / step_s;
}

Result<Utilization> utilization(const Shape& shape, const Rate& rate,
                                const Convention& convention) {
    for (const auto& [name, value] :
         {std::pair{"tokens/s", rate.tokens_per_s}, std::pair{"the number of GPUs", rate.gpus},
          std::pair{"the peak", rate.peak_tflops}}) {
        if (auto right = check_positive(name, value); !right) {
            return propagate(right);
        }
    }
    auto flops = flops_per_token(shape, convention);
    if (!flops) {
        return propagate(flops);
    }
    Utilization result;
    result.model_flops_per_token = flops->total();
    result.hardware_flops_per_token = hardware_flops(*flops, convention, rate.recompute);
    result.model_tflops_per_gpu = flops->total() * rate.tokens_per_s / rate.gpus / tera;
    result.peak_tflops = rate.peak_tflops;
    result.mfu = result.model_tflops_per_gpu / rate.peak_tflops;
    result.hfu = result.mfu * result.hardware_flops_per_token / result.model_flops_per_token;
    result.convention = &convention;
    result.recompute = rate.recompute;
    return result;
}

Result<double> share_of_peak(double tflops_per_gpu, double peak_tflops) {
    for (const auto& [name, value] :
         {std::pair{"TFLOP/s", tflops_per_gpu}, std::pair{"the peak", peak_tflops}}) {
        if (auto right = check_positive(name, value); !right) {
            return propagate(right);
        }
    }
    return tflops_per_gpu / peak_tflops;
}

double sc21_days(double parameters, double tokens, double gpus, double flops_per_s_per_gpu) {
    constexpr double day_s = 86400;
    return 8 * tokens * parameters / (gpus * flops_per_s_per_gpu) / day_s;
}

const Utilization& counted_as(std::string_view convention, const Utilization& about,
                              std::span<const Utilization> others) {
    if (convention.empty() || about.convention->name == convention) {
        return about;
    }
    const auto found = std::ranges::find_if(
        others, [&](const Utilization& other) { return other.convention->name == convention; });
    return found == others.end() ? about : *found;
}

Judgement judge(const Utilization& utilization, const Accelerator& accelerator, Precision precision,
                std::span<const Utilization> others) {
    const auto& about = utilization;
    if (about.mfu > 1) {
        return impossible(about, precision);
    }
    if (const auto ceiling = accelerator.measured_tflops(precision)) {
        const auto share = *ceiling / about.peak_tflops;
        const bool recomputed = about.hfu > about.mfu;
        if (about.hfu > share) {
            return {Doubt::warning,
                    fmt::format("an {} of {:.1f} % is above {:.1f} %, which the best matmul of {} "
                                "reaches: is the attention causal, the peak dense, the number of "
                                "GPUs right{}?",
                                recomputed ? "HFU" : "MFU", about.hfu * 100, share * 100,
                                accelerator.name, recomputed ? ", all of it recomputed" : "")};
        }
    }
    const auto* highest = accelerator.highest(precision);
    if (highest == nullptr) {
        return {};
    }
    const auto& compared = counted_as(highest->convention, about, others);
    if (compared.mfu > highest->share) {
        return {Doubt::question,
                fmt::format("an MFU of {:.1f} % is above {:.1f} %, the highest published of {} in "
                            "{} ({}): does {} count full or causal attention as this run has it, "
                            "and is the peak the dense one?",
                            compared.mfu * 100, highest->share * 100, accelerator.name,
                            to_string(precision), highest->source, convention_text(compared))};
    }
    return {};
}

}  // namespace railhead::training
