#include "fabric/collective_candidates.hpp"

#include <algorithm>

namespace railhead::fabric {

namespace {

constexpr double giga = 1e9;

/// Works in GB/s, as NCCL's constants are.
class Finder {
 public:
    Finder(const System& system, Collective collective)
        : system_{system},
          collective_{collective},
          limits_{channel_limits_gb_per_s(system.generation, system.nodes)},
          ll_limit_{ll_limit_gb_per_s(system.generation, system.cpu, system.nodes)},
          channels_{static_cast<double>(system.channel_count())},
          ranks_{static_cast<double>(system.ranks())},
          local_{static_cast<double>(system.gpus_per_node)},
          scale_up_{system.scale_up_bytes_per_s() / giga},
          network_{system.nodes > 1 ? system.network_bytes_per_s() / giga : 0} {}

    std::vector<Candidate> find() {
        if (collective_ == Collective::all_to_all) {
            add_pairwise();
            return std::move(found_);
        }
        for (const auto protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
            if (protocol == Protocol::ll128 && !has_ll128()) {
                continue;
            }
            add_ring(protocol);
            if (collective_ == Collective::all_reduce) {
                add_tree(protocol);
            }
        }
        if (is_reducing_scatter_or_gather() && system_.gpus_per_node == 1) {
            add_pat();
        }
        if (has_nvls()) {
            add_nvls();
        }
        if (collective_ == Collective::all_reduce && system_.sharp && system_.nodes > 1) {
            add_collnet();
        }
        return std::move(found_);
    }

 private:
    [[nodiscard]] bool is_alone() const { return system_.nodes == 1; }
    [[nodiscard]] bool is_reducing_scatter_or_gather() const {
        return collective_ == Collective::reduce_scatter || collective_ == Collective::all_gather;
    }
    /// It relies on stores of 128 bytes that arrive whole: NVLink's, and of NICs near the GPU.
    [[nodiscard]] bool has_ll128() const {
        return system_.nvlink_bytes_per_s > 0 || system_.gpus_per_node == 1;
    }
    [[nodiscard]] bool has_nvls() const {
        return system_.nvls && nvls_efficiency(system_.generation) > 0 &&
               system_.nvlink_bytes_per_s > 0 && system_.gpus_per_node > 1 &&
               (collective_ == Collective::all_reduce ||
                (is_reducing_scatter_or_gather() && is_alone()));
    }
    /// From bus to algorithm bandwidth.
    [[nodiscard]] double ring_ratio() const {
        return 1 / busbw_factor(collective_, system_.ranks());
    }
    /// What a ring passes on: the slower of its links.
    [[nodiscard]] double ring_link() const {
        if (is_alone()) {
            return scale_up_;
        }
        return local_ > 1 ? std::min(scale_up_, network_) : network_;
    }
    /// Trees send each byte up and down: two nodes swap it once, more send it twice.
    [[nodiscard]] double tree_network() const {
        return system_.nodes == 2 ? network_ : network_ / 2;
    }

    void add(Algorithm algorithm, Protocol protocol, double tuner, double wire) {
        found_.push_back({algorithm, protocol,
                          latency_us(system_, collective_, algorithm, protocol),
                          taken_latency_us(system_, collective_, algorithm, protocol), tuner * giga,
                          wire * giga});
    }

    void add_ring(Protocol protocol) {
        auto bus = ring_link();
        if (protocol == Protocol::ll) {
            bus = std::min(ll_limit_, bus * factor::ring_ll);
        }
        if (protocol == Protocol::ll128) {
            bus = std::min(bus * factor::ring_ll128, channels_ * limits_.ring_ll128);
        }
        add(Algorithm::ring, protocol, bus * ring_ratio(), bus * ring_ratio());
    }

    /// NCCL reckons with half the bus bandwidth of its graph, whose links within a node may be
    /// twice as fast as those between nodes, on more than two nodes with the latter.
    void add_tree(Protocol protocol) {
        auto algorithm = local_ > 1 ? scale_up_ / 2 : network_;
        if (!is_alone()) {
            algorithm = std::min(algorithm, tree_network());
        }
        algorithm = std::min(algorithm * factor::tree, channels_ * limits_.tree / 2);
        if (protocol == Protocol::ll) {
            algorithm = std::min(algorithm * factor::tree_ll, ll_limit_ / 2);
        }
        if (protocol == Protocol::ll128) {
            algorithm *= is_alone() ? factor::tree_ll128_one_node : factor::tree_ll128;
            algorithm = std::min(algorithm, channels_ * limits_.tree_ll128 / 2);
        }
        const bool is_plain = system_.generation >= Generation::hopper;
        add(Algorithm::tree, protocol, algorithm * (is_plain ? factor::plain_tree : 1), algorithm);
    }

    void add_pat() {
        const auto bus = ring_link() * factor::pat;
        add(Algorithm::pat, Protocol::simple, bus, bus * ring_ratio());
    }

    /// NCCL has one channel for each GPU, the head of its part.
    [[nodiscard]] double nvls_tuner_bus() const {
        const auto channel =
            std::min(scale_up_ / local_, fastest_channel_gb_per_s(system_.generation));
        return channel * nvls_efficiency(system_.generation) * (local_ - 1);
    }

    void add_nvls() {
        if (collective_ != Collective::all_reduce) {
            const auto share = nvls_efficiency(system_.generation);
            add(Algorithm::nvls, Protocol::simple, nvls_tuner_bus() * (local_ - 1) / local_,
                scale_up_ * share * ring_ratio());
            return;
        }
        // Each GPU gives all it has to the switch and the sum of its part to all: S (1 + 1 / g).
        const auto within = scale_up_ * nvls_efficiency(system_.generation) / (1 + 1 / local_);
        const auto tuner = 2 * nvls_tuner_bus();
        if (is_alone()) {
            return add(Algorithm::nvls, Protocol::simple, tuner * ring_ratio(), within);
        }
        const auto between = system_.nodes == 2 ? 2 * network_ : network_;
        add(Algorithm::nvls_tree, Protocol::simple,
            std::min({tuner, between, limits_.nvls_tree * local_}) * ring_ratio(),
            std::min(within, tree_network()));
        if (system_.sharp) {  // each byte goes once to the switch and comes back once
            add(Algorithm::nvls, Protocol::simple, std::min(tuner, network_) * ring_ratio(),
                std::min(within, network_));
        }
    }

    void add_collnet() {
        const auto per_nic = local_ / static_cast<double>(system_.nics_per_node);
        const auto direct =
            network_ / (per_nic - (per_nic - 1) / 2) / 2 *
            (system_.generation >= Generation::hopper ? factor::collnet_direct_hopper : 1);
        if (system_.nvlink_bytes_per_s > 0) {
            add(Algorithm::collnet_direct, Protocol::simple, direct, direct);
        }
        add(Algorithm::collnet_chain, Protocol::simple, network_ / 2,
            std::min(network_, scale_up_) / 2);
    }

    /// To the GPUs of the node over NVLink, to the others over the NICs, both at once.
    void add_pairwise() {
        auto algorithm = ranks_ / std::max(1.0, local_ - 1) * scale_up_;
        if (!is_alone()) {
            const auto between = ranks_ / (ranks_ - local_) * network_ / local_;
            algorithm = local_ > 1 ? std::min(algorithm, between) : between;
        }
        add(Algorithm::pairwise, Protocol::simple, algorithm, algorithm);
    }

    const System& system_;
    Collective collective_;
    ChannelLimits limits_;
    double ll_limit_;
    double channels_;
    double ranks_;
    double local_;
    double scale_up_;
    double network_;
    std::vector<Candidate> found_;
};

}  // namespace

std::vector<Candidate> find_candidates(const System& system, Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::all_to_all:
        case Collective::broadcast:
        case Collective::reduce:
            return Finder{system, collective}.find();
        case Collective::gather:
        case Collective::scatter:
        case Collective::send_receive:
            break;
    }
    return {};
}

}  // namespace railhead::fabric
