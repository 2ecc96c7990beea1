// Inside of the review: which nodes can hold a job, and which of them it may use.  Not for other
// modules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "policy/node_set.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

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
/// How many of `nodes` are on each leaf of `fabric`, the partition's.
[[nodiscard]] std::vector<std::uint32_t> leaf_sizes_of(const PartitionSite& partition,
                                                       const FabricSite& fabric,
                                                       const NodeSet& nodes);

/// How many nodes of each leaf of `fabric` the job may use in `partition`.
[[nodiscard]] std::vector<std::uint32_t> usable_leaf_sizes(const Work& work,
                                                           const PartitionSite& partition,
                                                           const FabricSite& fabric,
                                                           const Narrowing& narrowing);
/// Whether the job, which may use `all` of the partition's nodes, can do with `fewer` of them: they
/// are enough, on one network, and on a block fabric on as few blocks of each size, since Slurm waits
/// for those.
[[nodiscard]] bool can_do_with(const Work& work, const PartitionSite& partition, const NodeSet& all,
                               const NodeSet& fewer);

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

}  // namespace railhead::policy
