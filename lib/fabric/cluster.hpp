// Nodes and partitions, as slurm.conf, gres.conf and cgroup.conf tell them.
//
// Read once when the policy loads, and by `railhead explain` and `check`; never during a review.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::fabric {

struct NodeFacts {
    std::string name;
    std::uint32_t sockets = 1;          ///< boards folded in
    std::uint32_t cores_per_socket = 1;
    std::uint32_t threads_per_core = 1;
    std::uint32_t cpus = 1;             ///< CPUs= as written, else sockets x cores x threads
    std::uint32_t core_spec = 0;        ///< CoreSpecCount (cores) or CpuSpecList (its length)
    std::uint64_t memory_mb = 1;        ///< RealMemory
    std::uint64_t mem_spec_mb = 0;      ///< MemSpecLimit
    std::map<std::string, std::uint32_t> gpus;  ///< by type, "" untyped: from Gres=, types from gres.conf
    std::vector<std::string> features;
    std::uint32_t weight = 1;
    [[nodiscard]] std::uint32_t gpu_total() const;
};

struct Partition {
    std::string name;
    bool is_default = false;
    std::vector<std::uint32_t> nodes;   ///< indices into Cluster::nodes, ascending, no duplicates
    std::optional<std::uint32_t> default_time_min;  ///< minutes; job::unlimited for UNLIMITED
    std::optional<std::uint32_t> max_time_min;
    std::uint32_t min_nodes = 0;
    std::optional<std::uint32_t> max_nodes;         ///< unset: no limit
    std::optional<std::uint32_t> max_cpus_per_node;
    std::optional<std::uint64_t> def_mem_per_cpu_mb, def_mem_per_node_mb, def_mem_per_gpu_mb;
    std::optional<std::uint64_t> max_mem_per_cpu_mb, max_mem_per_node_mb;
    std::optional<std::uint32_t> def_cpus_per_gpu;  ///< JobDefaults=DefCpuPerGPU
    std::string over_subscribe;         ///< as written, upper case: "", "NO", "YES:4", "FORCE:1", "EXCLUSIVE"
    std::string topology;               ///< Topology= (25.05 on)
    std::string preempt_mode;           ///< PreemptMode=, as written; "": the cluster's
    std::uint32_t grace_time_s = 0;     ///< GraceTime
    bool lln = false;
};

/// Cores= of a line of gres.conf that lists GPUs.
struct GpuCores {
    std::vector<std::uint32_t> nodes;  ///< indices into Cluster::nodes
    std::string cores;                 ///< as written: "0-31"
    std::string auto_detect;           ///< the AutoDetect= in force beside it; "" for none and off
    Position where;
};

/// What the controller was told, as far as a review depends on it.
struct Cluster {
    std::string name;
    std::vector<NodeFacts> nodes;
    std::vector<Partition> partitions;
    std::string topology_plugin;        ///< "topology/tree", "topology/block", ""
    std::string topology_param;         ///< TopologyParam
    std::string select_parameters;      ///< SelectTypeParameters
    std::string scheduler_parameters;   ///< SchedulerParameters
    std::string accounting_enforce;     ///< AccountingStorageEnforce
    std::string job_submit_plugins;     ///< JobSubmitPlugins
    std::string plugin_dir;             ///< PluginDir
    std::string plug_stack_config;      ///< PlugStackConfig, made absolute; default beside slurm.conf
    std::string slurm_user = "root";
    std::string preempt_mode;
    std::string launch_parameters, proctrack, task_plugin;
    bool signals_children = false;      ///< SignalChildrenProcesses of cgroup.conf
    std::string preempt_type;           ///< PreemptType
    std::string preempt_parameters;     ///< PreemptParameters
    std::string slurmctld_parameters;   ///< SlurmctldParameters
    bool enforce_part_limits = false;   ///< EnforcePartLimits other than NO
    std::string kill_on_bad_exit;       ///< KillOnBadExit, as written
    std::string gres_auto_detect;       ///< AutoDetect= of gres.conf
    std::vector<GpuCores> gpu_cores;    ///< gres.conf's Cores= of GPUs, in the order of the file
    std::vector<Error> warnings;        ///< what was skipped: an unreadable Include, an unknown node in a partition
    /// Index of the node of that name, by binary search over a sorted index.
    [[nodiscard]] std::optional<std::uint32_t> find_node(std::string_view wanted) const;
    [[nodiscard]] const Partition* find_partition(std::string_view wanted) const;
    [[nodiscard]] const Partition* default_partition() const;
    std::vector<std::uint32_t> by_name;  ///< node indices sorted by name
};

/// Gives the text of a file that slurm.conf names, by absolute path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Reads slurm.conf at `path` (with its Include lines), gres.conf and cgroup.conf beside it, through
/// `read`.  That there is no cgroup.conf is no fault.
///
/// Keys in any case, comments, continued lines, NodeName=DEFAULT and PartitionName=DEFAULT,
/// Nodes=ALL, NodeSet=; Include lines as Slurm follows them: nested, relative to slurm.conf,
/// "%c" is the cluster's name, no wildcards.  What a partition leaves open is filled in from the
/// cluster-wide DefMemPerCPU and its like.  GPU types that slurm.conf leaves open come from
/// gres.conf.
///
/// An unreadable gres.conf or Include and a value that is no number become warnings; an unreadable
/// slurm.conf and a node list that cannot be read are errors.
[[nodiscard]] Result<Cluster> read_cluster(const std::string& path, const ReadFile& read);

/// The value of `key` in a list such as SchedulerParameters ("bf_interval=5,max_switch_wait=600");
/// an empty view when the key stands without a value.
[[nodiscard]] std::optional<std::string_view> find_parameter(std::string_view list, std::string_view key);

}  // namespace railhead::fabric
