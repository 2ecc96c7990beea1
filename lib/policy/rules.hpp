// Inside of the review: what its rules share.  Not for other modules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/request.hpp"
#include "base/text.hpp"
#include "policy/node_set.hpp"
#include "policy/review.hpp"
#include "policy/site.hpp"

namespace railhead::policy {

/// How the job asks for GPUs, as far as can be told before it is placed.
struct GpuDemand {
    std::uint64_t total = 0;                ///< of the job; 0: none, or it depends on the node count
    std::uint64_t per_node = 0;             ///< --gres, --gpus-per-node; 0: not said
    std::uint64_t per_task = 0;             ///< --gpus-per-task; 0: not said
    std::uint64_t tasks = 0;                ///< -n, or what the GPUs imply; 0: not said
    bool by_socket = false;                 ///< --gpus-per-socket: the node count stays Slurm's
    std::string_view type;                  ///< the one type asked for; empty: any
    bool several_types = false;             ///< "h100:8,a100:8"
    bool others = false;                    ///< "gpu:8,nvme:1": not every GPU node may have them
    bool unreadable = false;
    [[nodiscard]] bool any() const { return total > 0 || per_node > 0 || by_socket; }
};

/// What narrows the nodes of a partition for a job.
struct Narrowing {
    std::vector<std::string_view> features;  ///< -C, all of them
    std::vector<std::uint32_t> excluded;     ///< -x, ascending
    std::uint64_t gpus = 1;                  ///< a node must have, of the type asked for
};

/// The work of one review: each rule reads and adds.
struct Work {
    const job::JobRequest& request;
    const Site& site;
    const PartitionSite& partition;  ///< the first one named
    Settings settings;               ///< with every matching [[rule]] applied
    GpuDemand demand;
    std::uint32_t gpus_per_node = 0;
    Review& out;

    /// The node count in force: what the gang rule wrote, or what the user said.  0: open.
    std::uint32_t nodes = 0;
    /// How far the node count goes: a count that is only planned is only placed on paper.
    Mode count_mode = Mode::enforce;

    /// Read by narrowing_of() when a rule first needs it; unset also where it cannot be told.
    std::optional<Narrowing> narrowing = std::nullopt;
    bool narrowing_read = false;

    void say(std::string_view rule, NoteKind kind, std::string text, Mode mode = Mode::enforce) {
        out.notes.push_back({rule, kind, mode, std::move(text)});
    }
};

/// Whether a node can give `count` GPUs of the type that the job asks for.
[[nodiscard]] bool has_gpus(const fabric::NodeFacts& node, const GpuDemand& demand,
                            std::uint64_t count);

[[nodiscard]] GpuDemand gpu_demand(const job::JobRequest& request);

// fit.cpp: whether any node of a partition can hold its share of the job.

/// Why `nodes` nodes, with up to `gpus` GPUs each, may be too few, or too many, for this job in
/// `partition`; empty when they are right, whichever GPU nodes of it they are.
[[nodiscard]] std::string why_not(const Work& work, const PartitionSite& partition,
                                  std::uint64_t nodes, std::uint64_t gpus);
/// A word of the request that makes the node count, or the whole nodes, more than a matter of
/// GPUs, CPUs and memory.  Slurm's own search is then better than our arithmetic.
[[nodiscard]] std::string_view left_to_slurm(const Work& work);
/// How many nodes of the partition have all their GPUs of the type asked for.
[[nodiscard]] std::size_t nodes_with_gpus(const Work& work, const PartitionSite& partition);
/// CPUs that come with each GPU; nothing when -c says how many come with each task.
[[nodiscard]] std::optional<std::uint32_t> cpus_per_gpu(const Work& work,
                                                        const PartitionSite& partition);

// usable.cpp: which nodes of a partition the job may use.

/// A constraint that is nothing but features joined by "&"; nothing when it is more than that.
[[nodiscard]] std::optional<std::vector<std::string_view>> plain_features(
    std::string_view constraint);
/// The nodes of a host list, as indices of the cluster, ascending; unknown names are left out.
/// Nothing when it cannot be read, or names more nodes than there are.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> indices_of(std::string_view list,
                                                                   const Site& site);
/// What narrows the job's nodes when it has `nodes` of them; null when it cannot be told.
[[nodiscard]] const Narrowing* narrowing_of(Work& work, std::uint64_t nodes);
/// The GPUs of each of `nodes` nodes, 1 at least; those of the fullest where they are uneven.
[[nodiscard]] std::uint64_t gpus_a_node(const Work& work, std::uint64_t nodes);
/// The GPU nodes of `partition` that the job may use, and that have `feature` where it is not empty.
[[nodiscard]] NodeSet usable_nodes(const Work& work, const PartitionSite& partition,
                                   const Narrowing& narrowing, std::string_view feature = {});
/// How many of `nodes` are on each leaf of the partition's fabric.
[[nodiscard]] std::vector<std::uint32_t> leaf_sizes_of(const Work& work,
                                                       const PartitionSite& partition,
                                                       const NodeSet& nodes);

/// Under slurmctld's locks a user's list of partitions is not weighed beyond this.
constexpr int most_partitions = 16;

/// Whether `holds(partition)` for every partition that the job names; false where one is unknown.
template <class Holds>
[[nodiscard]] bool on_each_partition(const Work& work, Holds&& holds) {
    auto names = work.request.partition;
    for (int i = 0; i < most_partitions; ++i) {
        const auto comma = names.find(',');
        const auto* partition = work.site.find(trim(names.substr(0, comma)));
        if (partition == nullptr || !holds(*partition)) {
            return false;
        }
        if (comma == std::string_view::npos) {
            return true;
        }
        names.remove_prefix(comma + 1);
    }
    return false;
}

/// gang.cpp: whole nodes, all at once.
void apply_gang_rule(Work& work);
/// placement.cpp: the least leaves, and segments for declared model-parallel groups.
void apply_placement_rule(Work& work);
/// steering.cpp: small jobs prefer the leaves that are set aside for them.
void apply_steering_rule(Work& work);
/// isolation.cpp: tells what --gpus-per-task and --gpu-bind cost.
void apply_isolation_rule(Work& work);

/// The segment for `nodes` nodes in groups of `group` that can never take more blocks, or a
/// higher level, than stock would; 0 when there is none (traps: segments are placed one by one).
[[nodiscard]] std::uint32_t safe_segment(std::uint32_t nodes, std::uint32_t group,
                                         const std::vector<std::uint32_t>& block_sizes);

}  // namespace railhead::policy
