#include "training/accelerator.hpp"

#include <algorithm>
#include <array>

namespace railhead::training {

namespace {

constexpr std::array all{Precision::fp32, Precision::tf32, Precision::bf16,
                         Precision::fp16, Precision::fp8,  Precision::fp4};

}  // namespace

std::string_view to_string(Precision precision) {
    constexpr std::array<std::string_view, all.size()> names{"fp32", "tf32", "bf16",
                                                             "fp16", "fp8",  "fp4"};
    return names[static_cast<std::size_t>(precision)];
}

std::span<const Precision> precisions() {
    return all;
}

std::optional<double> Accelerator::peak_tflops(Precision precision) const {
    switch (precision) {
        case Precision::fp32:
            return fp32_tflops;
        case Precision::tf32:
            return tf32_tflops;
        case Precision::bf16:
            return bf16_tflops;
        case Precision::fp16:
            return fp16_tflops;
        case Precision::fp8:
            return fp8_tflops;
        case Precision::fp4:
            return fp4_tflops;
    }
    return std::nullopt;
}

std::optional<double> Accelerator::measured_tflops(Precision precision) const {
    switch (precision) {
        case Precision::bf16:
            return measured_bf16_tflops;
        case Precision::fp8:
            return measured_fp8_tflops;
        default:
            return std::nullopt;
    }
}

const PublishedMfu* Accelerator::highest(Precision precision) const {
    const auto found = std::ranges::find(highest_mfu, precision, &PublishedMfu::precision);
    return found == highest_mfu.end() ? nullptr : &*found;
}

}  // namespace railhead::training
