// What a site says about one type of node: its rails, and what jobs there are told.
//
// [[node_type]] of railhead.toml, which the policy's parser fills; on a node, the type is found by
// the NodeName.  Plain values without a word of hardware, so that the policy may hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::rails {

/// Where a task's memory comes from.
enum class Memory : std::uint8_t {
    off,     ///< as Slurm left it
    prefer,  ///< near its GPUs first, then anywhere
    bind     ///< near its GPUs only
};

/// What is done about a rail that is down, slow or missing.
enum class Health : std::uint8_t {
    off,
    note,   ///< the daemon's log
    warn,   ///< also the user's terminal, once a node
    strict  ///< the step fails
};

/// A variable that the site sets.
struct Setting {
    std::string name, value;
};

struct NodeType {
    std::string name;
    std::string nodes;               ///< host list of NodeNames
    std::vector<std::string> rails;  ///< "mlx5_0" or "mlx5_0:1"; empty: found on each node
    bool nccl_ib_hca = true;         ///< tell NCCL the rails?
    bool ucx_net_devices = true;     ///< tell UCX the NICs of a task's GPUs?
    bool nvshmem = false;            ///< tell NVSHMEM the rails?
    std::vector<std::string> socket_interface;  ///< network interfaces for NCCL and Gloo
    bool rail_only = false;                     ///< the fabric has no way from one rail to another
    std::string topo_file;                      ///< for NCCL_TOPO_FILE; empty: none
    std::vector<Setting> env;                   ///< the site's own, in the order of their names
    std::optional<Memory> memory;             ///< unset: as plugstack.conf says
    std::optional<bool> omp_num_threads;      ///< unset: as plugstack.conf says
    std::optional<Health> health;  ///< unset: what plugstack.conf says
    Position where;  ///< of its table in the policy
};

/// `node type "h100"`
[[nodiscard]] std::string called(const NodeType& type);

/// The rails that a site declared for a node, and where.
struct Declared {
    std::vector<std::string> rails;  ///< empty: none, they are found on the node
    std::string by;                  ///< `node type "h100"`
};

/// Those of the node's type, if it has one with rails; else `nics` of plugstack.conf.
[[nodiscard]] Declared declared_rails(const NodeType* type, const std::vector<std::string>& nics);

/// The first type that has the node; nullptr when none has.
[[nodiscard]] const NodeType* find_node_type(const std::vector<NodeType>& types,
                                             std::string_view node_name);

}  // namespace railhead::rails
