// What the site's policy says about the node that we are on.
//
// railhead.toml lies beside slurm.conf on the nodes too; of it, the launch needs [[node_type]]
// alone.
#pragma once

#include <optional>
#include <string>

#include "rails/node_type.hpp"
#include "rails/plugin_arguments.hpp"

namespace railhead::spank {

struct NodePolicy {
    std::optional<rails::NodeType> type;  ///< of this node, if the policy has one
    std::string trouble;                  ///< why the policy cannot be read; a job goes on without
};

/// Reads the policy: the file of `policy=`, else the one beside slurm.conf; that there is none is
/// no trouble.  It must belong to root, or to the owner of slurm.conf, and only its owner may write
/// it; since this runs as the job's user, everybody must be able to read it.
[[nodiscard]] NodePolicy read_node_policy(const rails::PluginArguments& arguments,
                                          const std::string& node_name);

}  // namespace railhead::spank
