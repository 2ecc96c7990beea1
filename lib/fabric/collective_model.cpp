#include "fabric/collective_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fabric/collective_candidates.hpp"

namespace railhead::fabric {

namespace {

constexpr double micro = 1e-6;

Result<void> check(const System& system) {
    if (system.nodes == 0 || system.gpus_per_node == 0 || system.ranks() < 2) {
        return fail(Errc::bad_input, "a collective needs two GPUs at least");
    }
    if (system.gpus_per_node > 1 && system.scale_up_bytes_per_s() <= 0) {
        return fail(Errc::bad_input, "the bandwidth within a node is missing: NVLink's, or PCIe's");
    }
    if (system.nodes > 1 && system.network_bytes_per_s() <= 0) {
        return fail(Errc::bad_input, "the NICs of a node are missing: their number and rate");
    }
    return {};
}

bool is_allowed(const Candidate& candidate, const Allowed& allowed) {
    return (!allowed.algorithm || *allowed.algorithm == candidate.algorithm) &&
           (!allowed.protocol || *allowed.protocol == candidate.protocol);
}

std::string words_of(const Allowed& allowed) {
    return fmt::format("{}{}{}", allowed.algorithm ? name_of(*allowed.algorithm) : "",
                       allowed.algorithm && allowed.protocol ? " with " : "",
                       allowed.protocol ? name_of(*allowed.protocol) : "");
}

bool is_nvls(Algorithm algorithm) {
    return algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
}

}  // namespace

double System::scale_up_bytes_per_s() const {
    if (nvlink_bytes_per_s > 0) {
        const auto link = nvlink_of(generation);
        return nvlink_bytes_per_s * link.usable_gb_per_s / link.sold_gb_per_s;
    }
    constexpr double pcie_share = 24 / 31.5;  // 24, 48 and 96 of 31.5, 63 and 126 GB/s
    return pcie_bytes_per_s * pcie_share;
}

double System::network_bytes_per_s() const {
    constexpr double share = 0.96;
    return static_cast<double>(nics_per_node) * nic_bytes_per_s * share;
}

std::uint64_t System::channel_count() const {
    if (channels > 0) {
        return channels;
    }
    constexpr std::uint64_t on_one_node[] = {6, 12, 12, 16};  // by generation
    constexpr std::uint64_t over_network = 16;
    return nodes > 1 ? over_network : on_one_node[static_cast<std::size_t>(generation)];
}

Result<CollectiveModel> CollectiveModel::make(const System& system, Collective collective,
                                              const Allowed& allowed) {
    if (auto fine = check(system); !fine) {
        return propagate(fine);
    }
    CollectiveModel model{system, collective};
    model.candidates_ = find_candidates(system, collective);
    if (model.candidates_.empty()) {
        return fail(Errc::unsupported, fmt::format("{} is not modelled", name_of(collective)));
    }
    std::erase_if(model.candidates_,
                  [&](const Candidate& one) { return !is_allowed(one, allowed); });
    if (model.candidates_.empty()) {
        return fail(Errc::bad_input, fmt::format("NCCL has no {} for {} on this system",
                                                 words_of(allowed), name_of(collective)));
    }
    return model;
}

double CollectiveModel::tuner_us(const Candidate& candidate, double bytes) const {
    auto bandwidth = candidate.tuner_bytes_per_s;
    auto latency = candidate.latency_us;
    const bool is_corrected =
        candidate.algorithm == Algorithm::tree || (candidate.algorithm == Algorithm::nvls_tree &&
                                                   system_.generation >= Generation::blackwell);
    if (is_corrected && collective_ == Collective::all_reduce) {
        bandwidth *= tree_correction(candidate.protocol, bytes);
    }
    constexpr double plateau_bytes = 64;  // for each channel and rank
    const auto pieces = static_cast<double>(system_.channel_count() * system_.ranks());
    if (candidate.algorithm == Algorithm::ring && candidate.protocol == Protocol::simple &&
        system_.nodes > 1 && collective_ == Collective::all_reduce &&
        bytes / pieces >= plateau_bytes) {
        latency *= system_.generation == Generation::volta ? factor::ring_plateau_volta
                                                           : factor::ring_plateau;
    }
    return latency + bytes / bandwidth / micro;
}

const Candidate& CollectiveModel::choose(double bytes) const {
    return *std::ranges::min_element(
        candidates_, {}, [&](const Candidate& candidate) { return tuner_us(candidate, bytes); });
}

/// The protocols of an algorithm are one curve: the latency of the quickest and the wire of the
/// widest, for NCCL goes over from one to the next as the size grows.  NVLS has but one protocol,
/// and begins where the quickest other algorithm leaves off.
Prediction CollectiveModel::terms_of(const Candidate& chosen) const {
    Prediction terms;
    terms.algorithm = chosen.algorithm;
    terms.protocol = chosen.protocol;
    terms.latency_us = chosen.taken_us;
    terms.wire_bytes_per_s = chosen.wire_bytes_per_s;
    for (const auto& other : candidates_) {
        const bool is_same = other.algorithm == chosen.algorithm;
        if (is_same || is_nvls(chosen.algorithm)) {
            terms.latency_us = std::min(terms.latency_us, other.taken_us);
        }
        if (is_same) {
            terms.wire_bytes_per_s = std::max(terms.wire_bytes_per_s, other.wire_bytes_per_s);
        }
    }
    return terms;
}

Prediction CollectiveModel::predict(double bytes) const {
    const auto& chosen = choose(bytes);
    auto prediction = terms_of(chosen);
    const auto root =
        std::sqrt(prediction.latency_us) + std::sqrt(bytes / prediction.wire_bytes_per_s / micro);
    prediction.bytes = bytes;
    prediction.time_us = root * root;
    prediction.tuner_us = tuner_us(chosen, bytes);
    prediction.algbw_bytes_per_s = bytes / (prediction.time_us * micro);
    prediction.busbw_bytes_per_s =
        prediction.algbw_bytes_per_s * busbw_factor(collective_, system_.ranks());
    return prediction;
}

std::optional<double> ring_tree_crossover(const CollectiveModel& model) {
    const auto best = [&](Algorithm algorithm, double bytes) {
        auto least = HUGE_VAL;
        for (const auto& candidate : model.candidates()) {
            if (candidate.algorithm == algorithm) {
                least = std::min(least, model.tuner_us(candidate, bytes));
            }
        }
        return least;
    };
    const auto is_tree = [&](double bytes) {
        return best(Algorithm::tree, bytes) < best(Algorithm::ring, bytes);
    };
    constexpr double most = 64e9;
    constexpr double least = 1e3;
    constexpr double step = 1.01;
    if (!std::isfinite(best(Algorithm::tree, most)) ||
        !std::isfinite(best(Algorithm::ring, most)) || is_tree(most)) {
        return std::nullopt;
    }
    for (auto bytes = most; bytes > least; bytes /= step) {
        if (is_tree(bytes)) {
            return bytes * step;
        }
    }
    return std::nullopt;
}

}  // namespace railhead::fabric
