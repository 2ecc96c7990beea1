// Rules on how a job was started: the CPUs of its ranks, and whether they are one run.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

/// The CPUs of a rank, and which GPU is its own.
struct Bound {
    std::string who;
    std::optional<std::size_t> gpu;
    CpuSet cpus;
    Evidence evidence;
    double gpus = 1;  ///< that it feeds
};

std::string who_of(const CpuBinding& binding) {
    auto who = binding.rank    ? fmt::format("Rank {}", *binding.rank)
               : binding.local ? fmt::format("Task {}", *binding.local)
                               : std::string{"A process"};
    return binding.host.empty() ? who : fmt::format("{} on {}", who, printable(binding.host));
}

std::span<const NcclRank> ranks_of(const Facts& facts) {
    return facts.nccl ? std::span<const NcclRank>{facts.nccl->ranks} : std::span<const NcclRank>{};
}

/// GPUs of a node, as a matrix, the hardware or NCCL's log tells; 0: none does.
std::size_t gpus_of_node(const Facts& facts) {
    if (!facts.machine.matrices.empty()) {
        return facts.machine.matrices.front().node.gpus.size();
    }
    if (facts.gpus_per_node() != 0) {
        return facts.gpus_per_node();
    }
    std::map<std::uint32_t, std::set<std::int32_t>> devices;
    for (const auto& rank : ranks_of(facts)) {
        devices[rank.host].insert(rank.nvml_device >= 0 ? rank.nvml_device : rank.device);
    }
    std::size_t most = 0;
    for (const auto& [host, some] : devices) {
        most = std::max(most, some.size());
    }
    return most;
}

/// Tasks of each host of these bindings: a step, told once or more.
std::map<std::string, std::set<std::uint32_t>> tasks_by_host(const RankReports& reports) {
    std::map<std::string, std::set<std::uint32_t>> tasks;
    for (const auto& binding : reports.bindings) {
        if (!binding.host.empty() && binding.local) {
            tasks[binding.host].insert(*binding.local);
        }
    }
    return tasks;
}

/// As srun, taskset and Railhead tell it.
std::vector<Bound> told_bindings(const Facts& facts) {
    std::vector<Bound> all;
    const auto gpus = gpus_of_node(facts);
    for (const auto& reports : facts.machine.ranks) {
        const auto tasks = tasks_by_host(reports);
        for (const auto& binding : reports.bindings) {
            Bound bound{who_of(binding), std::nullopt, binding.cpus, binding.evidence, 1};
            const auto here = tasks.find(binding.host);
            const auto count = here == tasks.end() ? gpus : here->second.size();
            if (binding.gpu) {
                bound.gpu = *binding.gpu;
            } else if (gpus > 0 && count == gpus && (binding.local || binding.rank)) {
                bound.gpu = (binding.local ? *binding.local : *binding.rank) % gpus;
            } else if (count > 0 && gpus > count) {
                bound.gpus = static_cast<double>(gpus) / static_cast<double>(count);
            }
            all.push_back(std::move(bound));
        }
    }
    return all;
}

/// As NCCL tells it: what is left of the CPUs near the GPU within the process's own.
std::vector<Bound> nccl_bindings(const Facts& facts) {
    std::vector<Bound> all;
    for (const auto& rank : ranks_of(facts)) {
        const auto* said = facts.nccl->said(rank, NcclTopic::affinity);
        const auto cpus = said == nullptr ? std::nullopt : cpus_of_nccl(said->value);
        if (cpus) {
            all.push_back(
                {fmt::format("Rank {} on {}", rank.rank, printable(facts.nccl->hosts[rank.host])),
                 static_cast<std::size_t>(
                     std::max(rank.nvml_device >= 0 ? rank.nvml_device : rank.device, 0)),
                 *cpus, said->first, 1});
        }
    }
    return all;
}

/// "--cpu-bind=mask_cpu:0xff,0xff00": the CPUs near each GPU.
std::string masks_text(const node::Node& node) {
    std::string text;
    for (const auto& gpu : node.gpus) {
        const auto words = to_mask(gpu.cpus);
        if (words.empty()) {
            return {};
        }
        std::string mask;
        for (auto word = words.rbegin(); word != words.rend(); ++word) {
            mask += mask.empty() ? fmt::format("{:x}", *word) : fmt::format("{:016x}", *word);
        }
        text += fmt::format("{}0x{}", text.empty() ? "--cpu-bind=mask_cpu:" : ",", mask);
    }
    return text;
}

Finding far_from(const Bound& bound, const node::Node& node) {
    const auto& gpu = node.gpus[*bound.gpu];
    auto finding =
        found(Confidence::likely,
              fmt::format("{} is bound to CPUs {}, and its GPU {} is near CPUs {}: what it sends "
                          "goes over the link between sockets.",
                          bound.who, to_string(bound.cpus), *bound.gpu, to_string(gpu.cpus)),
              {bound.evidence});
    finding.fix = {"spank_railhead.so binds each task to the CPUs of its GPU (railhead check)"};
    if (const auto masks = masks_text(node); !masks.empty()) {
        finding.fix.push_back(fmt::format("or, with whole nodes (--exclusive): srun {}", masks));
    }
    finding.fix.emplace_back("--ntasks-per-socket where a job has a part of a node");
    finding.expected = "launches, copies and NCCL's proxies next to their GPU";
    return finding;
}

Finding find_affinity(const Facts& facts) {
    auto bindings = told_bindings(facts);
    for (auto& bound : nccl_bindings(facts)) {
        bindings.push_back(std::move(bound));
    }
    if (bindings.empty()) {
        return unknown({Input::cpu_bindings});
    }
    bool is_compared = false;
    for (const auto& matrix : facts.machine.matrices) {
        for (const auto& bound : bindings) {
            const bool is_known = bound.gpu && *bound.gpu < matrix.node.gpus.size() &&
                                  !matrix.node.gpus[*bound.gpu].cpus.empty();
            is_compared = is_compared || is_known;
            if (is_known && !bound.cpus.meets(matrix.node.gpus[*bound.gpu].cpus)) {
                return far_from(bound, matrix.node);
            }
        }
    }
    return is_compared ? not_found() : unknown({Input::topo_m});
}

Finding find_few_cpus(const Facts& facts) {
    auto bindings = told_bindings(facts);
    for (auto& bound : nccl_bindings(facts)) {
        bindings.push_back(std::move(bound));
    }
    if (bindings.empty()) {
        return unknown({Input::cpu_bindings});
    }
    constexpr double least = 2;  // a core has two of them: loaders and NCCL's threads share it
    const auto few = std::ranges::find_if(
        bindings, [](const Bound& bound) { return bound.cpus.size() <= least * bound.gpus; });
    if (few == bindings.end()) {
        return not_found();
    }
    auto finding = found(
        Confidence::likely,
        fmt::format("{} has {} ({}) for {}: Python, loader workers, autograd and NCCL's proxies "
                    "take turns on them.",
                    few->who, count_of(few->cpus.size(), "CPU"), to_string(few->cpus),
                    count_of(static_cast<std::uint64_t>(few->gpus), "GPU")),
        {few->evidence});
    finding.fix = {
        "#SBATCH --cpus-per-task=N and srun --cpus-per-task=N (from Slurm 22.05 on srun does not "
        "take it from sbatch; or SRUN_CPUS_PER_TASK), N the CPUs of a node by its tasks",
        "torchrun: one task a node with all of its CPUs, --cpus-per-task=ALL --exclusive",
        "srun --cpu-bind=verbose shows what each task has"};
    finding.expected =
        "GPUs that do not wait for launches and samples: gpu-idle and loader-bound "
        "of a profile tell how long they do";
    return finding;
}

/// Each process takes itself for rank 0 of 1: it was not told of the others.
Finding find_alone(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    if (log.world() == 0) {
        return unknown({Input::nccl_ranks});
    }
    const auto first = std::ranges::find(log.ranks, 1U, &NcclRank::of);
    const auto alone = std::ranges::count(log.ranks, 1U, &NcclRank::of);
    if (log.world() > 1 || alone < 2) {
        return not_found();
    }
    auto finding =
        found(Confidence::likely,
              fmt::format(
                  "{} processes have a communicator of one rank each, and there is no larger one: "
                  "each trains by itself, on the same samples.",
                  alone),
              {{first->file, first->last_line, {}}});
    finding.fix = {
        "srun: MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1), and "
        "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID in each task",
        "torchrun: one task a node, --nnodes=$SLURM_NNODES --nproc_per_node=N "
        "--rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500",
        "MPI: srun --mpi=pmix, of the MPI that the program is built with"};
    finding.expected = fmt::format("\"nranks {}\" in NCCL's log: one run on all GPUs", alone);
    return finding;
}

constexpr std::string_view of_cpus[] = {"gpu-idle", "loader-bound", "slow-steps"};

constexpr Rule rules[] = {
    {"cpu-affinity", "ranks on CPUs that are far from their GPU",
     "all that the host does for the GPU crosses sockets", of_cpus, find_affinity},
    {"few-cpus", "ranks with a core or less", "a GPU waits for the threads that feed it", of_cpus,
     find_few_cpus},
    {"worlds-of-one",
     "processes that do not know of each other",
     "N GPUs do the work of one, N times",
     {},
     find_alone},
};

}  // namespace

std::span<const Rule> affinity_rules() {
    return rules;
}

}  // namespace railhead::diagnose
