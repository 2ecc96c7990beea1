// Which nodes fail more often than chance lets the rest of the fleet?
//
// Given how many failures the fleet had, those of one node are binomial: its share of the exposure
// is the chance that a failure falls on it.  So each node has an exact chance of as many failures
// as it had, and Benjamini and Hochberg (1995) say how small that has to be when thousands are
// looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "diagnose/failures.hpp"

namespace railhead::diagnose {

/// P(X >= k) for X binomial of n trials with chance p each; exact sums, right to 1e-12 of itself.
[[nodiscard]] double binomial_tail(std::uint64_t k, std::uint64_t n, double p);

/// Which of these chances stand out: the largest set whose false ones are to be a share of at most
/// `rate` of it (Benjamini and Hochberg 1995).  True where the chance is one of them.
[[nodiscard]] std::vector<bool> stand_out(std::span<const double> chances, double rate);

struct LemonNode {
    NodeCount count;
    double per_1000_node_days = 0;
    double rest_per_1000_node_days = 0;  ///< of all other nodes
    double chance = 1;                   ///< of as many failures or more, were it as the others
};

/// What such a window could have found.
struct LemonPower {
    double exposure_s = 0;         ///< of a node in the middle: the median
    std::uint64_t needed = 0;      ///< failures of one node alone that would stand out
    double times = 10;             ///< a lemon that fails so many times as often as the fleet ...
    double chance = 0;             ///< ... is found with this chance
    double times_found = 0;        ///< what is found nine times in ten
    std::optional<double> exposure_needed_s;  ///< a node, to find `times` nine times in ten
};

struct LemonAnswer {
    double false_discovery_rate = 0.05;
    std::vector<LemonNode> lemons;  ///< the least likely first
    std::uint64_t nodes = 0;        ///< that were tested: those with exposure
    std::uint64_t failures = 0;     ///< of them
    double exposure_s = 0;
    double per_1000_node_days = 0;    ///< of the fleet, lemons too
    std::optional<LemonPower> power;  ///< none where no failure was seen
};

/// Fails with `bad_input` on fewer than two nodes with exposure, or a rate that is not between 0
/// and 1.
[[nodiscard]] Result<LemonAnswer> find_lemons(std::span<const NodeCount> nodes,
                                              double false_discovery_rate = 0.05);

}  // namespace railhead::diagnose
