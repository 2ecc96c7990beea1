// Which node a subcommand is about: this machine, or a recorded one in a file of any kind.
#pragma once

#include <array>
#include <chrono>
#include <string>

#include <CLI/CLI.hpp>

#include "node/node.hpp"
#include "node/read_node.hpp"
#include "node_site.hpp"

namespace railhead::cli {

struct NodeSource {
    std::string file;                         ///< of any kind; "-": standard input
    std::string topo_m, hwloc_xml, nccl_xml;  ///< of one kind; "-": standard input
    std::string root = "/";                   ///< this machine's sys and proc lie below it
    std::chrono::milliseconds limit{5000};    ///< of the look at this machine

    [[nodiscard]] bool is_live() const;
};

/// Declares `name` ("FILE", "--from"), --topo-m, --hwloc-xml and --nccl-xml, which exclude each
/// other, and gives them.
std::array<CLI::Option*, 4> add_node_source(CLI::App& command, NodeSource& source,
                                            const std::string& name);

/// This machine as the plugin sees it: by the file of `topology=` where there is one.  Fails as
/// node::probe() does.
[[nodiscard]] Result<node::Node> read_own_node(const NodeSource& source, const NodeSite& site);

/// The node; fails as node::probe() does.
[[nodiscard]] Result<node::Node> read_node(const NodeSource& source);

}  // namespace railhead::cli
