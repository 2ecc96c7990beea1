// The rails of a node as text for people and as JSON.
#pragma once

#include <string>

#include "node/node.hpp"
#include "rails/environment.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::report {

/// A node, what was made of it, and what a job there would be told.
struct NodeReport {
    const node::Node& node;
    const rails::RailPlan& plan;
    const rails::EnvironmentPlan& environment;  ///< of a task with the first GPU
    std::string name = {};  ///< of the node, where it is known: told when nodes are compared
};

/// Which NICs each GPU sends through and which CPUs it gets when every GPU has a task of its own,
/// the NICs left out and why, and the environment.  80 columns.
[[nodiscard]] std::string rails_text(const NodeReport& report);

/// The same as JSON, schema "railhead.rails/1": docs/man/railhead.1.md has its fields.
[[nodiscard]] std::string rails_json(const NodeReport& report);

}  // namespace railhead::report
