// Rules on what a job was given: GPUs that its tasks can see, and leaves.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/rules_nccl.hpp"
#include "job/hostlist.hpp"

namespace railhead::diagnose {

namespace {

// -- GPUs that are hidden from each other --------------------------------------------------------

/// What hides the GPUs of a node from its tasks, as it was asked for.
struct Isolation {
    std::string option;
    Evidence evidence;
};

bool hides(std::string_view gpu_bind) {
    constexpr std::array<std::string_view, 5> kinds{"single", "closest", "map_gpu", "mask_gpu",
                                                    "per_task"};
    return gpu_bind.find("none") == std::string_view::npos &&
           std::ranges::any_of(
               kinds, [&](auto kind) { return gpu_bind.find(kind) != std::string_view::npos; });
}

bool says_none(std::string_view gpu_bind) {
    return gpu_bind.find("none") != std::string_view::npos;
}

/// Of a job as slurmctld has it.
std::optional<Isolation> isolation_of(const JobDetails& job) {
    if (job.tasks <= job.nodes || says_none(job.gpu_bind.value)) {
        return std::nullopt;  // one task has a node to itself
    }
    if (!job.gpus_per_task.value.empty()) {
        return Isolation{"--gpus-per-task", job.gpus_per_task.evidence};
    }
    if (hides(job.gpu_bind.value)) {
        return Isolation{"--gpu-bind", job.gpu_bind.evidence};
    }
    return std::nullopt;
}

std::uint64_t count_in(const RunConfiguration& script, std::string_view key) {
    const auto* setting = script.find(key);
    return setting == nullptr
               ? 0
               : parse_number<std::uint64_t>(setting->value.substr(0, setting->value.find('-')))
                     .value_or(0);
}

/// Of a batch script: its #SBATCH lines, and the options of its commands.
std::optional<Isolation> isolation_of(const RunConfiguration& script) {
    const auto find = [&](std::string_view name) {
        const auto* of_command = script.find(fmt::format("option.{}", name));
        return of_command != nullptr ? of_command : script.find(fmt::format("sbatch.{}", name));
    };
    const auto* bind = find("gpu-bind");
    if (bind != nullptr && says_none(bind->value)) {
        return std::nullopt;
    }
    const auto nodes = std::max<std::uint64_t>(count_in(script, "sbatch.nodes"), 1);
    const auto tasks = count_in(script, "sbatch.ntasks");
    const auto each = std::max(count_in(script, "sbatch.ntasks-per-node"),
                               count_in(script, "option.ntasks-per-node"));
    const auto* per_gpu = find("ntasks-per-gpu");
    if (each < 2 && tasks <= nodes && per_gpu == nullptr) {
        return std::nullopt;
    }
    for (const std::string_view name : {"gpus-per-task", "ntasks-per-gpu"}) {
        if (const auto* setting = find(name)) {
            return Isolation{fmt::format("--{}", name), setting->evidence};
        }
    }
    if (bind != nullptr && hides(bind->value)) {
        return Isolation{fmt::format("--gpu-bind={}", bind->value), bind->evidence};
    }
    return std::nullopt;
}

Finding find_isolating_options(const Facts& facts) {
    std::optional<Isolation> isolation;
    bool is_told = !facts.machine.jobs.empty();
    for (const auto& job : facts.machine.jobs) {
        isolation = isolation ? isolation : isolation_of(job);
    }
    for (const auto& script : facts.machine.configurations) {
        if (script.kind == FileKind::batch_script) {
            is_told = true;
            isolation = isolation ? isolation : isolation_of(script);
        }
    }
    if (!is_told) {
        return unknown({Input::job_request});
    }
    const bool talks_directly = facts.nccl && connections(*facts.nccl, PathClass::p2p) > 0 &&
                                connections(*facts.nccl, PathClass::shm) == 0;
    if (!isolation || talks_directly) {
        return not_found();
    }
    const bool is_seen = facts.nccl && connections(*facts.nccl, PathClass::shm) > 0;
    auto finding = found(
        is_seen ? Confidence::certain : Confidence::likely,
        fmt::format("{} gives each task GPUs of its own and hides the others of the node: NCCL "
                    "cannot use NVLink between them{}.",
                    printable(isolation->option), is_seen ? ", and takes shared memory" : ""),
        {isolation->evidence});
    finding.fix = {
        "#SBATCH --gpus-per-node=N --ntasks-per-node=N in place of it, and "
        "torch.cuda.set_device(int(os.environ[\"SLURM_LOCALID\"]))",
        "or keep it and add --gpu-bind=none to sbatch and to srun",
        "NCCL_DEBUG=INFO: \"via P2P\" in place of \"via SHM\" shows that it worked"};
    finding.expected =
        "NVLink in place of the host's memory: ten times the bandwidth within a node";
    return finding;
}

// -- leaves --------------------------------------------------------------------------------------

struct Allocation {
    std::string_view job, nodes, partition;
    Evidence evidence;
};

std::vector<Allocation> allocations_of(const Facts& facts) {
    std::vector<Allocation> all;
    for (const auto& job : facts.machine.jobs) {
        if (!job.node_list.value.empty()) {
            all.push_back({job.id, job.node_list.value, job.partition, job.node_list.evidence});
        }
    }
    if (all.empty()) {
        constexpr std::size_t few = 8;  // else it is a table of the whole cluster
        for (const auto& attempt : facts.machine.slurm.attempts) {
            if (!attempt.node_list.empty() && facts.machine.slurm.attempts.size() <= few) {
                all.push_back({attempt.id,
                               attempt.node_list,
                               {},
                               {attempt.from.file, attempt.from.line, {}}});
            }
        }
    }
    return all;
}

struct Span {
    std::size_t nodes = 0;
    std::uint32_t leaves = 0, least = 0;
};

/// How many leaves these nodes touch, and how few could hold as many of `allowed`, which is empty
/// for all.  Nothing where a node is not in the fabric.
std::optional<Span> span_of(const fabric::Fabric& fabric, const std::vector<std::string>& nodes,
                            const std::set<std::string>& allowed) {
    const auto leaves = fabric.leaves();
    std::map<std::string_view, std::size_t> leaf_of;
    std::vector<std::uint32_t> sizes(leaves.size());
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        for (const auto node : leaves[leaf]) {
            const auto& name = fabric.nodes[node];
            leaf_of.emplace(name, leaf);
            sizes[leaf] += allowed.empty() || allowed.contains(name) ? 1 : 0;
        }
    }
    std::set<std::size_t> touched;
    for (const auto& node : nodes) {
        const auto found = leaf_of.find(node);
        if (found == leaf_of.end()) {
            return std::nullopt;
        }
        touched.insert(found->second);
    }
    const auto count = static_cast<std::uint32_t>(nodes.size());
    return Span{nodes.size(), static_cast<std::uint32_t>(touched.size()),
                fabric::minimal_span(sizes, count)};
}

std::set<std::string> nodes_of_partition(const Facts& facts, std::string_view name) {
    for (const auto& partition : facts.machine.partitions) {
        if (partition.name == name) {
            const auto nodes = job::expand_hostlist(partition.nodes);
            return nodes ? std::set<std::string>{nodes->begin(), nodes->end()}
                         : std::set<std::string>{};
        }
    }
    return {};
}

bool is_network_slow(const Facts& facts) {
    const auto rules = bandwidth_rules();
    const auto slow = std::ranges::find(rules, std::string_view{"slow-network"}, &Rule::id);
    return slow != rules.end() && slow->check(facts).answer == Answer::found;
}

Finding too_many(const Facts& facts, const Allocation& job, const Span& span, bool is_partition) {
    const auto crossings = [](std::uint32_t leaves) { return leaves > 1 ? leaves : 0; };
    auto finding =
        found(Confidence::certain,
              fmt::format("The {} nodes of job {} touch {} leaves; {} can hold as many{}.",
                          span.nodes, job.job, span.leaves, span.least,
                          is_partition ? " of its partition"
                                       : ", if its partition has all nodes of the topology"),
              {job.evidence});
    finding.confidence = is_partition ? Confidence::certain : Confidence::possible;
    finding.role = is_network_slow(facts) ? Role::cause : Role::advice;
    finding.fix = {fmt::format("#SBATCH --switches={}@24:00:00: Slurm waits for so few leaves "
                               "(SchedulerParameters=max_switch_wait limits it)",
                               span.least),
                   "the gang rule of railhead.toml sets it for each gang, and prices the wait",
                   fmt::format("railhead verify-placement {}: which nodes are where; railhead "
                               "order gives the ranks their order",
                               job.job)};
    finding.expected = fmt::format(
        "a ring in the order of leaves goes through the spines {} times in place of "
        "{}; Meta lost more than 30 % of bandwidth on fragmented racks (SIGCOMM 2024)",
        crossings(span.least), crossings(span.leaves));
    return finding;
}

Finding find_leaves(const Facts& facts) {
    const auto allocations = allocations_of(facts);
    bool is_told = false;
    for (const auto& topology : facts.machine.topologies) {
        for (const auto& fabric : topology.fabrics) {
            for (const auto& job : allocations) {
                const auto nodes = job::expand_hostlist(job.nodes);
                if (!fabric.is_planned() || !nodes || nodes->empty()) {
                    continue;
                }
                const auto allowed = nodes_of_partition(facts, job.partition);
                const auto span = span_of(fabric, *nodes, allowed);
                if (!span || span->least == 0) {
                    continue;
                }
                is_told = true;
                if (span->leaves > span->least) {
                    return too_many(facts, job, *span, !allowed.empty());
                }
            }
        }
    }
    return is_told ? not_found() : unknown({Input::topology});
}

constexpr std::string_view of_isolation[] = {"gpu-isolation", "p2p-off", "no-nvlink", "low-mfu"};
constexpr std::string_view of_leaves[] = {"slow-network"};

constexpr Rule rules[] = {
    {"isolating-options", "options of sbatch that hide GPUs from each other",
     "NVLink is ten times faster than memory", of_isolation, find_isolating_options},
    {"too-many-leaves", "jobs on more leaves than need be",
     "what goes through the spines shares them with other jobs", of_leaves, find_leaves},
};

}  // namespace

std::span<const Rule> placement_rules() {
    return rules;
}

}  // namespace railhead::diagnose
