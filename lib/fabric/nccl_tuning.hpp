// The constants by which NCCL guesses what a collective takes: its algorithms and protocols.
//
// Facts from NVIDIA/nccl at 5067397, src/graph/tuning.cc, topo.h and search.cc: microseconds, and
// GB/s of 1e9 bytes.  They say what NCCL believes, by which it chooses; not what a machine does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace railhead::fabric {

/// As NCCL_ALGO has them.
enum class Algorithm : std::uint8_t {
    tree,
    ring,
    collnet_direct,
    collnet_chain,
    nvls,
    nvls_tree,
    pat,
    pairwise  ///< sends and receives, as an all-to-all is made of; no value of NCCL_ALGO
};
/// As NCCL_PROTO has them.
enum class Protocol : std::uint8_t { ll, ll128, simple };
/// Of the GPUs: compute capability 7, 8, 9 and 10.
enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };
enum class Link : std::uint8_t { nvlink, pcie, network };
enum class Cpu : std::uint8_t { intel, amd, other };

/// "NVLSTree"
[[nodiscard]] std::string_view name_of(Algorithm algorithm);
/// "LL128"
[[nodiscard]] std::string_view name_of(Protocol protocol);
/// "hopper"
[[nodiscard]] std::string_view name_of(Generation generation);
/// The values of NCCL_ALGO, of NCCL_PROTO and the generations, in the order of their enumerations.
[[nodiscard]] std::span<const std::string_view> algorithm_names();
[[nodiscard]] std::span<const std::string_view> protocol_names();
[[nodiscard]] std::span<const std::string_view> generation_names();

/// Paid once for each operation.
[[nodiscard]] double base_latency_us(Algorithm algorithm, Protocol protocol);
/// Paid for each step over such a link.
[[nodiscard]] double step_latency_us(Link link, Algorithm algorithm, Protocol protocol);
/// For a network step that the CPU has to post.
[[nodiscard]] double post_overhead_us(Cpu cpu, Protocol protocol);

/// The most of LL, all channels together: on one node of its GPUs, on more of its CPUs.
[[nodiscard]] double ll_limit_gb_per_s(Generation generation, Cpu cpu, std::uint64_t nodes);

/// The most of one channel.
struct ChannelLimits {
    double ring_ll128 = 0, tree_ll128 = 0, tree = 0, nvls_tree = 0;
};
[[nodiscard]] ChannelLimits channel_limits_gb_per_s(Generation generation, std::uint64_t nodes);

/// The share of the links that NVLS keeps busy; 0 where there is none.
[[nodiscard]] double nvls_efficiency(Generation generation);
/// The fastest channel that its search tries within a node.
[[nodiscard]] double fastest_channel_gb_per_s(Generation generation);

/// What trees reach of their bandwidth at this size: 1 from 1 GiB on.
[[nodiscard]] double tree_correction(Protocol protocol, double bytes);
constexpr std::size_t tree_corrections = 24;  ///< sizes from 64 B on, by powers of two

namespace factor {
constexpr double ring_ll = 0.5;
constexpr double ring_ll128 = 0.92;
constexpr double tree = 0.92;
constexpr double tree_ll = 1 / 3.8;
constexpr double tree_ll128_one_node = 7.0 / 9;
constexpr double tree_ll128 = 120.0 / 128;
constexpr double plain_tree = 0.85;  ///< the pattern of Hopper and later
constexpr double pat = 0.75;
constexpr double simple_post = 3;  ///< times the post overhead
constexpr double ring_plateau = 1.4;
constexpr double ring_plateau_volta = 1.9;
constexpr double collnet_direct_hopper = 0.85;
}  // namespace factor

/// NVLink of a generation: what a link is sold as and what NCCL reckons with, one direction.
struct NvLink {
    unsigned links = 0;  ///< of the usual GPU
    double sold_gb_per_s = 0;
    double usable_gb_per_s = 0;
};
[[nodiscard]] NvLink nvlink_of(Generation generation);

}  // namespace railhead::fabric
