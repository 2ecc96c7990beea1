// How often a gang fails: from a failure rate of nodes, or from failures that were counted.
//
// A gang stops when one of its nodes does, so its MTBF is that of a node divided by their number.
// What counts as a failure differs between published rates by more than a factor of three: a rate
// is never told without its definition.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace railhead::checkpoint {

/// A published failure rate, for nodes of 8 GPUs.
struct FailureRate {
    std::string_view name;  ///< as people type it: "rsc-1"
    double per_1000_node_days = 0;
    std::string_view counted;  ///< what counts as a failure
    std::string_view source;
};

[[nodiscard]] std::span<const FailureRate> published_rates();
/// The published rate of this name, without regard to case; null when there is none.
[[nodiscard]] const FailureRate* find_rate(std::string_view name);
/// The one that stands in where nothing is known of a cluster.
[[nodiscard]] const FailureRate& usual_rate();

/// 1 / (nodes r), in seconds.  Fails with `bad_input` unless the rate is positive and there is a
/// node.
[[nodiscard]] Result<double> gang_mtbf_s(double per_1000_node_days, std::uint64_t nodes);

/// The rate that gives a gang of `nodes` this MTBF; the inverse of gang_mtbf_s().
[[nodiscard]] double rate_per_1000_node_days(double mtbf_s, std::uint64_t nodes);

/// What a count of failures in a time tells about the MTBF.
struct MtbfEstimate {
    double mtbf_s =
        0;             ///< time over failures; twice the time where none was seen (Jeffreys' prior)
    double low_s = 0;  ///< limits of the exact Poisson interval (Garwood 1936)
    std::optional<double> high_s;  ///< none where no failure was seen
};

/// Limits χ²(α/2; 2k) / 2T and χ²(1-α/2; 2k+2) / 2T of the rate, α = 1 - confidence.
///
/// Fails with `bad_input` unless observed_s is positive and finite, failures are at most 1e7 and
/// 0 < confidence < 1.
[[nodiscard]] Result<MtbfEstimate> estimate_mtbf(std::uint64_t failures, double observed_s,
                                                 double confidence = 0.95);

}  // namespace railhead::checkpoint
