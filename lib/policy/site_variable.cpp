#include "policy/site_variable.hpp"

#include <algorithm>
#include <array>

namespace railhead::policy {

namespace {

/// A variable, or with "*" at the end all that begin so.
struct Refused {
    std::string_view pattern, reason;
};

constexpr std::string_view code = "it has every program of the job load other code";
constexpr std::string_view users = "it is the user's";
constexpr std::string_view slurms = "it is Slurm's";
constexpr std::string_view gpus =
    "it says which GPUs a task sees, or how they are numbered: that is Slurm's to say";

constexpr std::array refused{
    Refused{"LD_*", code},
    Refused{"GLIBC_TUNABLES", code},
    Refused{"GCONV_PATH", code},
    Refused{"BASH_ENV", code},
    Refused{"ENV", code},
    Refused{"PERL5*", code},
    Refused{"PYTHON*", code},
    Refused{"IFS", users},
    Refused{"PATH", users},
    Refused{"HOME", users},
    Refused{"USER", users},
    Refused{"LOGNAME", users},
    Refused{"SHELL", users},
    Refused{"TMPDIR", users},
    Refused{"NCCL_CONF_FILE", users},
    Refused{"SLURM*", slurms},
    Refused{"SBATCH_*", slurms},
    Refused{"SALLOC_*", slurms},
    Refused{"SRUN_*", slurms},
    Refused{"PMI_*", slurms},
    Refused{"PMI2_*", slurms},
    Refused{"PMIX_*", slurms},
    Refused{"CUDA_VISIBLE_DEVICES", gpus},
    Refused{"CUDA_DEVICE_ORDER", gpus},
    Refused{"NVIDIA_VISIBLE_DEVICES", gpus},
    Refused{"ROCR_VISIBLE_DEVICES", gpus},
    Refused{"HIP_VISIBLE_DEVICES", gpus},
    Refused{"GPU_DEVICE_ORDINAL", gpus},
    Refused{"ZE_AFFINITY_MASK", gpus},
    Refused{"RAILHEAD*", "it is Railhead's own"},
    Refused{"NCCL_IB_HCA",
            "write the rails, rails = [\"mlx5_0\", ...]: UCX and others are told the same"},
};

}  // namespace

bool is_variable_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, fits);
}

std::string refusal_of_variable(std::string_view name) {
    if (!is_variable_name(name)) {
        return "a variable's name is made of letters, digits and \"_\"";
    }
    const auto found = std::ranges::find_if(refused, [&](const Refused& entry) {
        const auto& pattern = entry.pattern;
        return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : name == pattern;
    });
    return found == refused.end() ? std::string{} : std::string{found->reason};
}

}  // namespace railhead::policy
