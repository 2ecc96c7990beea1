// Collective operations: how their bandwidths are counted, and the least that crosses each wire.
//
// A size is that of nccl-tests (doc/PERFORMANCE.md): the whole buffer of an all-reduce, what all
// ranks together have of a reduce-scatter or an all-gather, what a rank sends in an all-to-all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace railhead::fabric {

enum class Collective : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    all_to_all,
    broadcast,
    reduce,
    gather,
    scatter,
    send_receive
};

/// "all_reduce"
[[nodiscard]] std::string_view name_of(Collective collective);
/// By name_of(), whatever its case and with - for _ too; nothing for another text.
[[nodiscard]] std::optional<Collective> find_collective(std::string_view name);

/// Bus bandwidth over algorithm bandwidth (size / time): nccl-tests doc/PERFORMANCE.md.  It makes
/// collectives of any kind and number of ranks (2 or more) comparable with the speed of a link.
[[nodiscard]] double busbw_factor(Collective collective, std::uint64_t ranks);

/// Nodes with as many GPUs each, and what each GPU has to send.
struct Hierarchy {
    std::uint64_t nodes = 1;
    std::uint64_t gpus_per_node = 8;
    double scale_up_bytes_per_s = 0;  ///< NVLink of a GPU, one direction
    double network_bytes_per_s = 0;   ///< a GPU's share of its node's NICs, one direction
    [[nodiscard]] std::uint64_t ranks() const { return nodes * gpus_per_node; }
};

/// What an all-reduce takes at the least, when it is summed within the nodes first: each GPU sends
/// 2 (g - 1) / g of the buffer to its node, then 2 (k - 1) / k of its g-th part to other nodes.
struct WireTimes {
    double scale_up_s = 0;
    double network_s = 0;  ///< 0 on one node
};
[[nodiscard]] WireTimes hierarchical_all_reduce(const Hierarchy& hierarchy, double bytes);

/// What each GPU's NIC carries while an all-reduce runs at this bus bandwidth: busbw (k - 1) / (n -
/// 1), in the same unit.
[[nodiscard]] double wire_rate_of(const Hierarchy& hierarchy, double busbw);

/// A bus bandwidth that NVIDIA gives for a configuration.
struct Ceiling {
    std::string_view configuration;
    double busbw_gb_per_s = 0;
};
/// NVIDIA's slides on NCCL, GTC 2024 and 2025 (S72583): all-reduce.
[[nodiscard]] std::span<const Ceiling> published_ceilings();

}  // namespace railhead::fabric
