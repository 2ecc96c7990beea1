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
#include <vector>

#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "fabric/span.hpp"
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
    std::vector<std::uint32_t> leaf_sizes;  ///< GPU nodes of each leaf or block, in fabric order
    std::vector<fabric::SpanTable> spans;  ///< of leaf_sizes, one for each network
    std::uint32_t used_leaves = 0;       ///< leaves that are not empty
    std::uint32_t smallest_leaf = 0;     ///< GPU nodes of the least of them; 0: no fabric
    bool off_fabric = false;             ///< some GPU node is on no leaf
};

struct Site {
    Policy policy;
    fabric::Cluster cluster;
    fabric::Fabric fabric;
    std::vector<std::uint32_t> leaf_of;  ///< by node index: leaf, or no_leaf
    std::vector<std::uint32_t> network_of;  ///< by leaf: leaves of unequal networks never share a job
    std::uint32_t networks = 0;
    std::map<std::string, NodeSet, std::less<>> by_feature;  ///< nodes of each feature
    std::vector<PartitionSite> partitions;
    std::vector<Error> warnings;         ///< what could not be used, and is then left to stock Slurm
    std::uint32_t max_switch_wait_s = 300;  ///< SchedulerParameters=max_switch_wait, 300 s by default
    bool limits_enforced = false;        ///< AccountingStorageEnforce has limits, qos or safe

    static constexpr std::uint32_t no_leaf = UINT32_MAX;

    /// The partition `name`, the default one when it is empty; null when there is none.
    [[nodiscard]] const PartitionSite* find(std::string_view name) const;

   private:
    friend Site compile(Policy, fabric::Cluster, fabric::Fabric);
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::optional<std::size_t> default_;
};

/// Least spans over leaves of `sizes` nodes, a table for each network of the site.
[[nodiscard]] std::vector<fabric::SpanTable> span_tables(const Site& site,
                                                         std::span<const std::uint32_t> sizes);
/// The least leaves for `nodes` nodes in any one network; 0 when none can hold them.
[[nodiscard]] std::uint32_t least_leaves(std::span<const fabric::SpanTable> networks,
                                         std::uint32_t nodes);

/// Puts the three together.  What does not fit (a [partition.x] that slurm.conf does not have, a
/// node of the topology that it does not know) becomes a warning, never an error.
[[nodiscard]] Site compile(Policy policy, fabric::Cluster cluster, fabric::Fabric fabric);

}  // namespace railhead::policy
