// Rules on traces of PyTorch's profiler: what the GPU waits for.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

/// A share of the step of one GPU that is worth a look.
struct Share {
    const DeviceTime* device = nullptr;
    double value = 0;
};

/// The device with most of what `part` tells; none where no trace has a device.
template <class Part>
Share most_of(const Facts& facts, Part part) {
    Share most;
    for (const auto& trace : facts.machine.traces) {
        for (const auto& device : trace.devices) {
            const double share = device.span_us > 0 ? part(device) / device.span_us : 0;
            if (most.device == nullptr || share > most.value) {
                most = {&device, share};
            }
        }
    }
    return most;
}

Finding costly(const Facts& facts, double share, std::string what) {
    auto finding = found(Confidence::certain, std::move(what), {});
    finding.step_share = share;
    finding.expected = expected_text(facts, share) + " at most";
    for (const auto& file : facts.files) {
        if (file.kind == FileKind::profiler_trace) {
            finding.evidence.push_back({file.file, 0, {}});
        }
    }
    return finding;
}

/// Ranges of NVTX that wait for samples, as Megatron-LM, NeMo, Lightning and PyTorch call them.
bool is_loader(std::string_view name) {
    std::string low{name};
    std::ranges::transform(low, low.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::string_view, 5> words{"dataloader", "data_loader", "batch-generator",
                                                    "get_batch", "train_dataloader_next"};
    return std::ranges::any_of(words,
                               [&](auto word) { return low.find(word) != std::string::npos; });
}

/// The share of loaders of the longest range, which is that of a step or holds all of them; nothing
/// where no range is told.
std::optional<std::pair<double, Evidence>> loader_share(const NsysStats& stats) {
    double longest = 0;
    const NsysRow* loader = nullptr;
    for (const auto& row : stats.rows) {
        if (row.table == NsysTable::ranges) {
            longest = std::max(longest, row.total_ns);
            const bool is_more = loader == nullptr || row.total_ns > loader->total_ns;
            loader = is_loader(row.name) && is_more ? &row : loader;
        }
    }
    if (!(longest > 0)) {
        return std::nullopt;
    }
    return loader == nullptr ? std::pair{0.0, Evidence{}}
                             : std::pair{loader->total_ns / longest, loader->evidence};
}

Finding find_loader(const Facts& facts) {
    double most = 0;
    bool is_told = false;
    std::optional<Evidence> by_nsys;
    for (const auto& stats : facts.machine.nsys) {
        if (const auto share = loader_share(stats)) {
            is_told = true;
            if (share->first > most) {
                most = share->first;
                by_nsys = share->second;
            }
        }
    }
    for (const auto& trace : facts.machine.traces) {
        if (trace.steps > 0 && trace.step_us > 0) {
            is_told = true;
            const double share =
                trace.loader_us / (static_cast<double>(trace.steps) * trace.step_us);
            by_nsys = share > most ? std::nullopt : by_nsys;
            most = std::max(most, share);
        }
    }
    if (!is_told) {
        return unknown({Input::profiler_trace, Input::nsys});
    }
    constexpr double worth_a_look = 0.05;
    if (most < worth_a_look) {
        return not_found();
    }
    auto finding =
        costly(facts, std::min(most, 0.99),
               fmt::format("The program waits for samples in {:.1f} % of a step.", most * 100));
    if (by_nsys) {
        finding.evidence = {*by_nsys};
    }
    finding.fix = {
        "DataLoader(num_workers=CPUs of the task, prefetch_factor=4, pin_memory=True, "
        "persistent_workers=True)",
        "packed shards (WebDataset, MosaicML streaming) on local disks",
        "a run on made-up samples shows what there is to gain"};
    return finding;
}

/// nsys adds up kernels and does not tell which of them overlap: only much of it says something.
Finding find_much_nccl(const Facts& facts) {
    constexpr double much = 0.5;
    for (const auto& stats : facts.machine.nsys) {
        const double all = stats.nccl_ns + stats.compute_ns;
        if (!(all > 0) || stats.nccl_ns < much * all) {
            continue;
        }
        auto finding =
            found(Confidence::possible,
                  fmt::format(
                      "NCCL's kernels take {:.1f} ms of {:.1f} ms of all kernels together, {:.0f} "
                      "%: more than computation can hide.",
                      stats.nccl_ns * 1e-6, all * 1e-6, stats.nccl_ns / all * 100),
                  {});
        for (const auto& file : facts.files) {
            if (file.kind == FileKind::nsys_stats) {
                finding.evidence.push_back({file.file, 0, {}});
            }
        }
        finding.role = Role::symptom;
        finding.fix = {"all_reduce_perf on the same nodes: is the network as fast as it should be?",
                       "a trace of PyTorch's profiler tells what of it is hidden",
                       "nsys stats of two ranks: the one whose NCCL kernels are short is late"};
        finding.expected = fmt::format("at least {:.1f} ms less of {:.1f} ms: what is beyond half",
                                       (2 * stats.nccl_ns - all) * 1e-6, all * 1e-6);
        return finding;
    }
    const bool has_kernels = std::ranges::any_of(facts.machine.nsys, [](const NsysStats& stats) {
        return stats.nccl_ns + stats.compute_ns > 0;
    });
    return has_kernels ? not_found() : unknown({Input::profiler_trace, Input::nsys});
}

Finding find_exposed(const Facts& facts) {
    const auto most =
        most_of(facts, [](const DeviceTime& device) { return device.nccl_exposed_us; });
    if (most.device == nullptr) {
        return find_much_nccl(facts);
    }
    constexpr double worth_a_look = 0.15;  // MegaScale won 10 % by overlap, arXiv:2402.15627
    if (most.value < worth_a_look) {
        return not_found();
    }
    auto finding =
        costly(facts, std::min(most.value, 0.99),
               fmt::format("NCCL's kernels run with no computation beside them in {:.1f} % of the "
                           "time: the network is slow, a rank is late, or nothing hides them.",
                           most.value * 100));
    finding.role = Role::symptom;
    finding.fix = {"all_reduce_perf on the same nodes: is the network as fast as it should be?",
                   "--overlap-grad-reduce --overlap-param-gather --tp-comm-overlap (Megatron); "
                   "prefetch of FSDP",
                   "traces of two ranks: the one whose NCCL kernels are short is late"};
    return finding;
}

Finding find_idle(const Facts& facts) {
    const auto most = most_of(facts, [](const DeviceTime& device) { return device.idle_us; });
    if (most.device == nullptr) {
        return unknown({Input::profiler_trace});
    }
    constexpr double worth_a_look = 0.15;
    if (most.value < worth_a_look) {
        return not_found();
    }
    auto finding =
        costly(facts, std::min(most.value, 0.99),
               fmt::format("Nothing runs on the GPU in {:.1f} % of the time: the host is "
                           "late with launches, or waits itself.",
                           most.value * 100));
    finding.role = Role::symptom;
    finding.fix = {
        "bind ranks to the CPUs of their GPU, as the plugin does: srun -l grep Cpus_allowed_list "
        "/proc/self/status",
        "torch.compile or CUDA graphs: fewer launches",
        "no .item() and no print of a loss in each step: each waits for the GPU"};
    return finding;
}

constexpr std::string_view of_loader[] = {"gpu-idle", "slow-steps", "low-mfu"};

constexpr Rule rules[] = {
    {"loader-bound", "programs that wait for samples", "GPUs have nothing to do meanwhile",
     of_loader, find_loader},
    {"exposed-communication",
     "communication that nothing hides",
     "it is time in which nothing is computed",
     {},
     find_exposed},
    {"gpu-idle",
     "GPUs on which nothing runs",
     "it is time in which nothing is computed",
     {},
     find_idle},
};

}  // namespace

std::span<const Rule> profile_rules() {
    return rules;
}

}  // namespace railhead::diagnose
