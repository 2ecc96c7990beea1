#include "plan/published_runs.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace railhead::plan {

namespace {

constexpr std::string_view a100 = "a100-sxm-80gb";
constexpr std::string_view h100 = "h100-sxm";

constexpr std::string_view full = "matrices";
constexpr std::string_view causal = "matrices-causal";
constexpr std::string_view palm = "palm";

constexpr std::string_view llama = "LLaMA, arXiv:2302.13971, section 2.4: 380 tokens/s a GPU";
constexpr std::string_view korthikanti = "Korthikanti et al., arXiv:2205.05198, table 5";
constexpr std::string_view megascale = "MegaScale, arXiv:2402.15627, table 2: Megatron-LM";
constexpr std::string_view bloom = "BLOOM: 149 TFLOP/s with recomputation (HFU 48 %)";
constexpr std::string_view dgxc = "NVIDIA/dgxc-benchmarking, BF16 pre-training";
constexpr std::string_view llama_3 = "Llama 3, arXiv:2407.21783, table 4";
constexpr std::string_view megatron = "NVIDIA/Megatron-LM d98e8a6, weak scaling";
constexpr std::string_view deepseek = "DeepSeek-V3, arXiv:2412.19437, of the BF16 peak";
constexpr std::string_view bridge = "NVIDIA-NeMo/Megatron-Bridge 067f987, BF16 pre-training";

constexpr std::array runs{
    PublishedRun{a100, "GPT 22B", 22e9, false, 8, 0.415, full, korthikanti},
    PublishedRun{a100, "GPT-3 175B", 175e9, false, 64, 0.514, full, korthikanti},
    PublishedRun{a100, "MT-NLG 530B", 530e9, false, 280, 0.560, full, korthikanti},
    PublishedRun{a100, "GPT 1T", 1008e9, false, 512, 0.563, full, korthikanti},
    PublishedRun{a100, "BLOOM 176B", 176.25e9, false, 384, 0.360, full, bloom},
    PublishedRun{a100, "LLaMA 65B", 65.2e9, false, 2048, 0.496, palm, llama},
    PublishedRun{a100, "GPT 175B", 175e9, false, 256, 0.530, full, megascale},
    PublishedRun{a100, "GPT 175B", 175e9, false, 1024, 0.447, full, megascale},
    PublishedRun{a100, "GPT 175B", 175e9, false, 3072, 0.487, full, megascale},
    PublishedRun{a100, "GPT 175B", 175e9, false, 6144, 0.478, full, megascale},
    PublishedRun{a100, "GPT 175B", 175e9, false, 12288, 0.412, full, megascale},

    PublishedRun{h100, "Llama 3.1 8B", 8.03e9, false, 8, 0.625, full, dgxc},
    PublishedRun{h100, "Llama 3.1 8B", 8.03e9, false, 128, 0.622, full, dgxc},
    PublishedRun{h100, "Nemotron-4 15B", 15.6e9, false, 16, 0.585, full, dgxc},
    PublishedRun{h100, "Nemotron-4 15B", 15.6e9, false, 2048, 0.560, full, dgxc},
    PublishedRun{h100, "Llama 3.1 70B", 70.6e9, false, 64, 0.543, full, dgxc},
    PublishedRun{h100, "Llama 3.1 70B", 70.6e9, false, 2048, 0.543, full, dgxc},
    PublishedRun{h100, "Nemotron-4 340B", 341e9, false, 256, 0.500, full, dgxc},
    PublishedRun{h100, "Nemotron-4 340B", 341e9, false, 2048, 0.492, full, dgxc},
    PublishedRun{h100, "Llama 3.1 405B", 405.9e9, false, 512, 0.555, full, dgxc},
    PublishedRun{h100, "Llama 3.1 405B", 405.9e9, false, 2048, 0.552, full, dgxc},
    PublishedRun{h100, "Llama 3 405B", 405.9e9, false, 8192, 0.43, palm, llama_3},
    PublishedRun{h100, "Llama 3 405B", 405.9e9, false, 16384, 0.41, palm, llama_3},
    PublishedRun{h100, "GPT 177B", 177e9, false, 2304, 0.438, full, megatron},
    PublishedRun{h100, "GPT 462B", 462e9, false, 6144, 0.465, full, megatron},
    PublishedRun{h100, "Grok 1", 86e9, true, 2048, 0.406, causal, dgxc},
    PublishedRun{"h800-sxm", "DeepSeek-V3", 37e9, true, 2048, 0.346, "6nd", deepseek},

    PublishedRun{"gb200", "Llama 3.1 405B", 405.9e9, false, 512, 0.466, full, dgxc},
    PublishedRun{"gb200", "Nemotron-4 340B", 341e9, false, 512, 0.394, full, dgxc},
    PublishedRun{"gb200", "DeepSeek-V3", 37e9, true, 256, 0.313, causal, bridge},
    PublishedRun{"gb200", "Qwen3 235B-A22B", 22e9, true, 256, 0.291, causal, bridge},
    PublishedRun{"gb300", "DeepSeek-V3", 37e9, true, 256, 0.384, causal, bridge},
    PublishedRun{"gb300", "Qwen3 235B-A22B", 22e9, true, 256, 0.363, causal, bridge},
    PublishedRun{"b200-sxm", "GPT-OSS 120B", 5.1e9, true, 64, 0.164, causal, bridge},
    PublishedRun{"b300-sxm", "GPT-OSS 120B", 5.1e9, true, 64, 0.184, causal, bridge},
};

}  // namespace

std::span<const PublishedRun> published_runs() {
    return runs;
}

Result<const PublishedRun*> nearest_run(const training::Accelerator& accelerator,
                                        double active_parameters, bool has_experts, double gpus) {
    const PublishedRun* best = nullptr;
    auto least = std::numeric_limits<double>::infinity();
    for (const auto& run : runs) {
        const auto distance = std::abs(std::log(active_parameters / run.active_parameters)) +
                              std::abs(std::log(gpus / run.gpus));
        if (run.accelerator == accelerator.name && run.has_experts == has_experts &&
            distance < least) {
            best = &run;
            least = distance;
        }
    }
    if (best == nullptr) {
        return fail(Errc::not_found,
                    fmt::format("no published run of a model {} experts is known on this "
                                "accelerator: say what MFU to reckon with",
                                has_experts ? "with" : "without"));
    }
    return best;
}

}  // namespace railhead::plan
