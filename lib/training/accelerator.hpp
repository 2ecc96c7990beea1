// What one accelerator can do: dense peaks, memory, links, power, each with its source.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::training {

enum class Precision { fp32, tf32, bf16, fp16, fp8, fp4 };

/// "bf16", "fp8".
[[nodiscard]] std::string_view to_string(Precision precision);
/// All of them, in the order of the enum.
[[nodiscard]] std::span<const Precision> precisions();

/// The highest MFU that was published of an accelerator.
struct PublishedMfu {
    Precision precision = Precision::bf16;
    double share = 0;        ///< 0.625
    std::string source;      ///< the run, and who printed it
    std::string convention;  ///< that it was counted by; empty where that is not known
};

/// What is not published is absent, never zero.
struct Accelerator {
    std::string name;                  ///< as in the catalogue: h100-sxm
    std::vector<std::string> aliases;  ///< h100, H100-SXM5-80GB

    // Dense peaks: datasheets that count 2:4 sparsity print twice as much.  TFLOP/s.
    std::optional<double> fp32_tflops, tf32_tflops, bf16_tflops, fp16_tflops, fp8_tflops,
        fp4_tflops;
    // What the best square matmul was measured to reach.  TFLOP/s.
    std::optional<double> measured_bf16_tflops, measured_fp8_tflops;

    double memory_bytes = 0;      ///< as the driver reports it
    bool memory_as_sold = false;  ///< no report of the driver is known: less can be used
    double memory_bytes_per_s = 0;
    std::optional<double> scale_up_bytes_per_s;  ///< NVLink or its like, one direction
    std::optional<double> pcie_bytes_per_s;      ///< one direction
    std::optional<double> power_w;
    unsigned per_node = 8;  ///< in the usual node

    std::vector<PublishedMfu> highest_mfu;
    std::string source;
    std::string note;                     ///< what the figures do not say; may be empty
    std::vector<std::string> unverified;  ///< keys of the catalogue whose figure no source confirms

    [[nodiscard]] std::optional<double> peak_tflops(Precision precision) const;
    [[nodiscard]] std::optional<double> measured_tflops(Precision precision) const;
    [[nodiscard]] const PublishedMfu* highest(Precision precision) const;
};

}  // namespace railhead::training
