// How many switches and cables a fabric needs, before it is bought.
//
// A folded Clos network (fat tree) of two or three tiers, by the arithmetic of docs/fabric.md.  A
// *scalable unit* is what grows at once: the nodes that share their leaf switches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace railhead::fabric {

enum class Design : std::uint8_t {
    rail_optimized,  ///< NIC i of every node of a unit goes to leaf i of the unit
    spine_leaf,      ///< all NICs of a node go to one leaf: a top-of-rack switch
    rail_only,       ///< a network for each rail, and none between them
    nvl72            ///< as rail_optimized; a unit holds whole NVLink domains of 18 nodes
};
/// "rail-optimized", "spine-leaf", "rail-only", "nvl72".
[[nodiscard]] std::string_view to_string(Design design);
/// Those words, in the order of Design.
[[nodiscard]] std::span<const std::string_view> design_words();

/// Nodes (compute trays) and GPUs of an NVLink domain of NVIDIA's GB200 and GB300 NVL72 racks.
constexpr std::uint32_t nvl72_nodes = 18;
constexpr std::uint32_t nvl72_gpus_per_node = 4;

/// What is asked for.  Speeds are Gb/s, of one direction.
struct PlanQuestion {
    Design design = Design::rail_optimized;
    std::optional<std::uint32_t> nodes, gpus;  ///< one of them; GPUs are rounded up to whole nodes
    std::optional<std::uint32_t> gpus_per_node;  ///< default: 8; 4 of nvl72
    std::optional<std::uint32_t> nics_per_node;  ///< rails; default: one for each GPU
    double nic_gbps = 400;
    std::uint32_t radix = 64;                  ///< ports of a switch at the speed of a NIC
    std::optional<double> uplink_gbps;         ///< between switches; default: as a NIC
    std::optional<std::uint32_t> spine_radix;  ///< ports of spines and cores, at the uplinks'
                                               ///< speed; default: of the same switch
    std::optional<std::uint32_t> tiers;        ///< default: the fewest that hold the nodes
    std::optional<std::uint32_t>
        unit_nodes;                    ///< of a scalable unit; default: the most that a leaf takes
    double oversubscription = 1;       ///< of a leaf's uplinks, 2 is 2:1
    double core_oversubscription = 1;  ///< of a spine's uplinks
};

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

    double leaf_oversubscription = 1;  ///< of a full unit
    double core_oversubscription = 1;  ///< of a full pod
    double bisection_gbps = 0;         ///< from one half of the nodes to the other, one direction

    std::uint64_t free_leaf_ports = 0, free_spine_ports = 0, free_core_ports = 0;
    std::uint64_t free_nodes = 0;         ///< places in the units that there are
    std::uint64_t nodes_by_switches = 0;  ///< that the spines and cores have ports for
    std::uint64_t nodes_by_tiers = 0;     ///< that so many tiers of such switches can hold

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
