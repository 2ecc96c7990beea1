// What a fabric to be planned is to be like.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

constexpr double usual_nic_gbps = 400;
constexpr std::uint32_t usual_radix = 64;

/// What is asked for.  Speeds are Gb/s, of one direction.
struct PlanQuestion {
    Design design = Design::rail_optimized;
    std::optional<std::uint32_t> nodes, gpus;  ///< one of them; GPUs are rounded up to whole nodes
    std::optional<std::uint32_t> gpus_per_node;  ///< default: 8; 4 of nvl72
    std::optional<std::uint32_t> nics_per_node;  ///< rails; default: one for each GPU
    std::optional<double> nic_gbps;              ///< default: usual_nic_gbps
    std::optional<std::uint32_t> radix;  ///< ports of a switch at that speed; default: usual_radix
    std::optional<double> uplink_gbps;   ///< between switches; default: as a NIC
    std::optional<std::uint32_t> spine_radix;  ///< ports of spines and cores, at the uplinks'
                                               ///< speed; default: of the same switch
    std::optional<std::uint32_t> tiers;        ///< default: the fewest that hold the nodes
    std::optional<std::uint32_t>
        unit_nodes;  ///< of a scalable unit; default: the most that a leaf takes
    std::optional<double> oversubscription;  ///< of a leaf's uplinks, 2 is 2:1; default: 1
    double core_oversubscription = 1;        ///< of a spine's uplinks
};

/// What was taken where nothing was said.
struct PlanAssumption {
    std::string_view option;  ///< that says otherwise: "--radix"
    std::string value;        ///< with its unit
    std::string_view source;
};

/// In the order of the options.
[[nodiscard]] std::vector<PlanAssumption> assumptions_of(const PlanQuestion& question);

/// Fails with `bad_input` on a number that no cluster has, or where its size is not said.
[[nodiscard]] Result<> check_question(const PlanQuestion& question);

/// What a node has where nothing else is said.
[[nodiscard]] std::uint32_t gpus_per_node(const PlanQuestion& question);
[[nodiscard]] std::uint32_t nics_per_node(const PlanQuestion& question);

/// More nodes than any cluster has.
constexpr std::uint32_t most_planned_nodes = 1U << 20U;

}  // namespace railhead::fabric
