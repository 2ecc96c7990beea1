// railhead rails --why: who sets a variable on a node, and what each of the others says of it.
#pragma once

#include <string>

#include "command.hpp"
#include "node/node.hpp"
#include "node_site.hpp"

namespace railhead::cli {

/// The node that is asked about.
struct WhyNode {
    const node::Node& node;
    const NodeSite& site;
    bool here = true;  ///< this machine: its files and the environment of this process count
};

/// Prints the answer for `variable`, or a table of all when it is empty; as text or JSON.
void show_why(const std::string& variable, bool as_json, const WhyNode& about, Console& console);

}  // namespace railhead::cli
