// What the site says about one node: its type in railhead.toml and the plugin's line in
// plugstack.conf.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command.hpp"
#include "policy/load_policy.hpp"
#include "rails/node_type.hpp"
#include "rails/plugin_arguments.hpp"

namespace railhead::cli {

/// What this machine is called: by slurmd for the job that we are in, if we are in one, and by
/// itself.
[[nodiscard]] std::vector<std::string> own_names();

struct NodeSiteOptions {
    std::string node_name;  ///< NodeName; empty: this machine's
    std::string plugstack;  ///< empty: plugstack.conf beside slurm.conf
    policy::Places places;
};

/// Adds --node, --policy, --slurm-conf and --plugstack; `options` outlives `command`.
void add_node_site(CLI::App& command, NodeSiteOptions& options);

struct NodeSite {
    std::string node_name;  ///< empty: a recorded node that nobody named
    std::optional<rails::NodeType>
        type;  ///< unset: the policy has none for it, or there is no policy
    rails::PluginArguments arguments;
    rails::Declared declared;
    uid_t owner = 0;  ///< whose files the plugin goes by, besides root's

    [[nodiscard]] const rails::NodeType* find_type() const { return type ? &*type : nullptr; }
};

/// Reads both files; what is wrong with them is warned of, as the plugin would log it and go on.
/// With `here`, the node is this machine unless the options name another.
[[nodiscard]] NodeSite read_node_site(const NodeSiteOptions& options, bool here, Console& console);

}  // namespace railhead::cli
