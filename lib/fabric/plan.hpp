// How many switches and cables a fabric needs, before it is bought.
//
// A folded Clos network (fat tree) of two or three tiers, by the arithmetic of docs/fabric.md.  A
// *scalable unit* is what grows at once: the nodes that share their leaf switches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "fabric/plan_question.hpp"

namespace railhead::fabric {

/// Switches and links are those of all networks together; "a leaf", "a spine" are one switch's.
struct Plan {
    Design design = Design::rail_optimized;
    std::uint32_t nodes = 0;
    std::uint32_t gpus_per_node = 0;
    std::uint32_t nics_per_node = 0;
    double nic_gbps = 0;
    double uplink_gbps = 0;
    std::uint32_t leaf_radix = 0;   ///< ports at the speed of a NIC
    std::uint32_t spine_radix = 0;  ///< ports at the speed of the uplinks

    std::uint32_t networks = 1;  ///< that no switch joins: the rails of rail_only
    unsigned tiers = 0;
    std::uint32_t unit_nodes = 0;  ///< that a full scalable unit has
    std::uint32_t units = 0;
    std::uint32_t unit_leaves = 0;  ///< leaf switches of a unit
    std::uint32_t pods = 1;         ///< units that spines join without the cores; 1 of two tiers
    std::uint32_t pod_units = 0;    ///< units of a full pod

    std::uint32_t leaves = 0, spines = 0, cores = 0;
    std::uint32_t leaf_down = 0, leaf_up = 0;    ///< ports that a leaf of a full unit uses
    std::uint32_t spine_down = 0, spine_up = 0;  ///< ports that a spine has for each
    std::uint32_t leaf_spine_pair = 0;           ///< links between a leaf and each of its spines
    std::uint32_t spine_core_pair = 0;
    std::uint64_t node_links = 0, leaf_spine_links = 0, spine_core_links = 0;

    double asked_oversubscription = 1;  ///< of the leaves, before ports are rounded up
    double leaf_oversubscription = 1;   ///< of a full unit
    double core_oversubscription = 1;   ///< of a full pod
    double bisection_gbps = 0;          ///< from one half of the nodes to the other, one direction

    std::uint64_t free_leaf_ports = 0, free_spine_ports = 0, free_core_ports = 0;
    std::uint64_t free_nodes = 0;         ///< places in the units that there are
    std::uint64_t nodes_by_switches = 0;  ///< that the spines and cores have ports for
    std::uint64_t nodes_by_tiers = 0;     ///< that so many tiers of such switches can hold

    std::optional<std::uint32_t> asked_gpus;  ///< where they were, before they were rounded up
    std::vector<PlanAssumption> assumptions;  ///< what was not said

    [[nodiscard]] std::uint64_t gpus() const { return std::uint64_t{nodes} * gpus_per_node; }
    [[nodiscard]] std::uint64_t cables() const {
        return node_links + leaf_spine_links + spine_core_links;
    }
    /// bisection_gbps by what the NICs of half of the nodes send.
    [[nodiscard]] double bisection_share() const;
};

/// Works out the fabric.
///
/// With d ports down and u = ceil(d x NIC / (oversubscription x uplink)) up, a leaf fits where
/// d x NIC + u x uplink <= radix x NIC.  Every leaf has equally many links to each spine, every
/// spine to each of its cores: the number of spines divides u, and is the least that has the
/// ports.  In three tiers a pod has u spines, and spine i of all pods has the same cores.
///
/// Fails with `bad_input` on what makes no such fabric, and says the largest that does.
[[nodiscard]] Result<Plan> make_plan(const PlanQuestion& question);

}  // namespace railhead::fabric
