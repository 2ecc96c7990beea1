// Whether the rails of a node are as they should be, and what to do where they are not.
//
// A job runs at the pace of its slowest rail, and NCCL neither waits for a port nor says which one
// is slow.  So the state of the day is held against what the node is made of, and against its own
// other rails: the cheapest yardstick, and one that needs no table of products.
//
// Everything here is a pure function over plain values; health_check.hpp gathers them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "node/node.hpp"
#include "node/ports.hpp"
#include "node/verbs.hpp"
#include "rails/findings.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::rails {

/// The NICs to look at, as positions in Node::nics, ascending: the rails, and each NIC that was
/// left out but must be a rail that came up wrong: of a rail's kind, and nearer to some GPU than
/// every rail.  With `declared` the plan has the site's own list, which nothing is added to.
[[nodiscard]] std::vector<std::size_t> watched_nics(const node::Node& node, const RailPlan& plan,
                                                    bool declared);

struct HealthFacts {
    const node::Node& node;
    const RailPlan& plan;
    std::vector<std::size_t> watched;  ///< as watched_nics() gives them
    std::vector<node::Port> ports;     ///< the port in use of each of `watched`
    std::vector<node::UnusableDevice> unusable;
    std::optional<unsigned> gpus;  ///< how many GPUs the node should have, where known
};

/// What is wrong, in the order: the node, rails of the site's list that are missing, then NIC by
/// NIC.  A NIC that is missing, cannot be used or is not active is not measured any further.
///
/// A rate counts as low against the highest of the rails, as a PCIe link does against those of the
/// rails of its kind: all alike is how the machine was built.
[[nodiscard]] std::vector<Finding> judge_health(const HealthFacts& facts);

}  // namespace railhead::rails
