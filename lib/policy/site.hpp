// A policy compiled against the cluster it is for: all that a review needs, ready to ask.
//
// Made once when the policy loads and shared, unchanged, by every thread that reviews; reading
// files is load.hpp's business.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/levels.hpp"
#include "fabric/span.hpp"
#include "policy/lemons.hpp"
#include "policy/node_set.hpp"
#include "policy/policy.hpp"

namespace railhead::policy {

/// The least that every GPU node of a partition can hold.  A job that fits this fits any of them.
struct NodeCapacity {
    std::uint32_t cpus = 0;              ///< that jobs may use: CoreSpecCount and MaxCPUsPerNode taken off
    std::uint32_t all_cpus = 0;          ///< CPUs of the node as configured
    bool cpus_uniform = true;            ///< every GPU node has just these
    std::uint32_t threads_per_core = 1;  ///< the most of any
    std::uint64_t memory_mb = 0;         ///< that jobs may use: MemSpecLimit taken off
};

/// How few switches of one level, or blocks, can hold a job: of all nodes, or those of a partition.
struct LevelSpans {
    unsigned level = 0;                          ///< 0: leaves, or blocks
    std::vector<fabric::SpanTable> networks;     ///< of the nodes usable below each switch
    std::uint32_t used = 0;                      ///< switches that have usable nodes

    /// The least switches for `nodes` nodes in any one network; 0 when none can hold them.
    [[nodiscard]] std::uint32_t least(std::uint64_t nodes) const;
    /// The nodes of the largest network.
    [[nodiscard]] std::uint64_t capacity() const;
};

/// A fabric as seen from the nodes of slurm.conf.
struct FabricSite {
    fabric::Fabric fabric;
    std::vector<std::uint32_t> leaf_of;  ///< by index of Site::cluster.nodes: leaf, or no_leaf
    /// First and last node of each leaf, by index of Site::cluster.nodes; empty where the nodes of
    /// some leaf are no run of them.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> leaf_runs;
    std::vector<std::vector<std::uint32_t>> networks;  ///< leaves; a job stays within one of these
    std::vector<fabric::LevelGroups> levels;           ///< between the leaves and the top
    static constexpr std::uint32_t no_leaf = UINT32_MAX;
};

/// Least spans where each leaf has `sizes` usable nodes: of leaves first, then level by level.
[[nodiscard]] std::vector<LevelSpans> spans_of(const FabricSite& fabric,
                                               std::span<const std::uint32_t> sizes);

struct PartitionSite {
    std::string name;
    fabric::Partition limits;            ///< as slurm.conf has it
    Settings settings;                   ///< global and [partition.NAME] applied; rules are not
    std::vector<std::uint32_t> gpu_nodes;  ///< indices into Site::cluster.nodes, ascending
    NodeSet gpu_set;                     ///< the same
    std::uint32_t gpus_per_node = 0;     ///< 0: no GPU node, or `mixed`
    std::string gpu_type;                ///< of all of them; empty: untyped, or several types
    bool several_types = false;          ///< nodes of one type beside nodes of another
    bool mixed = false;                  ///< nodes with unequal GPU counts, or several types in a node
    NodeCapacity capacity;
    std::optional<std::uint32_t> fabric;  ///< index into Site::fabrics: what Slurm places it by
    std::vector<std::uint32_t> leaf_sizes;  ///< GPU nodes of each leaf or block, in fabric order
    std::vector<LevelSpans> spans;       ///< of leaf_sizes, leaves first; empty without a fabric
    std::vector<std::uint32_t> off_fabric;  ///< GPU nodes on no leaf of it, as in gpu_nodes
    std::uint32_t smallest_leaf = 0;     ///< GPU nodes of the least leaf that has any; 0: no fabric
};

/// A node that gangs avoid.
struct LemonNode {
    std::uint32_t node = 0;              ///< index into Site::cluster.nodes
    std::int64_t until_s = 0;            ///< as in Lemon
};

struct Site {
    Policy policy;
    fabric::Cluster cluster;
    std::vector<FabricSite> fabrics;     ///< one from topology.conf, any number from topology.yaml
    std::map<std::string, NodeSet, std::less<>> by_feature;  ///< nodes of each feature
    std::vector<LemonNode> lemons;       ///< by node, ascending, each once; also those whose time is over
    std::vector<PartitionSite> partitions;
    std::vector<Error> warnings;         ///< what could not be used, and is then left to stock Slurm
    std::uint32_t max_switch_wait_s = 300;  ///< SchedulerParameters=max_switch_wait, 300 s by default
    bool limits_enforced = false;        ///< AccountingStorageEnforce has limits, qos or safe

    /// The partition `name`, the default one when it is empty; null when there is none.
    [[nodiscard]] const PartitionSite* find(std::string_view name) const;

    /// The tree or blocks that govern a partition; null when there are none to plan for.
    [[nodiscard]] const FabricSite* fabric_of(const PartitionSite& partition) const;

   private:
    friend Site compile(Policy, fabric::Cluster, std::vector<fabric::Fabric>, const std::vector<Lemon>&);
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::optional<std::size_t> default_;
};

/// Indices into Site::cluster.nodes of the names that slurm.conf has; ascending, one for each name.
[[nodiscard]] std::vector<std::uint32_t> indices_of(std::span<const std::string> names,
                                                    const Site& site);

/// Puts them together.  What does not fit (a [partition.x] that slurm.conf does not have, a node of
/// the topology or of the lemons that it does not know, a Topology= that there is not) becomes a
/// warning, never an error.
[[nodiscard]] Site compile(Policy policy, fabric::Cluster cluster,
                           std::vector<fabric::Fabric> fabrics,
                           const std::vector<Lemon>& lemons = {});

}  // namespace railhead::policy
