// How many nodes to have beside those of the job, so that failures seldom make it wait.
#pragma once

#include <cstdint>

namespace railhead::plan {

/// The share of time that a node is out: 1 - MTBF / (MTBF + MTTR), which is r t / (1 + r t) for r
/// failures of it a day and t days until it is back.
[[nodiscard]] double unavailability(double per_1000_node_days, double repair_s);

/// The least number of spares with which, of them and the job's `nodes` together, no more than that
/// many are out with this chance: the quantile of a binomial distribution, as ByteRobust
/// (arXiv:2509.16293) sizes its pool at P99.  0 <= share < 1, 0 < chance < 1.
[[nodiscard]] std::uint64_t spare_nodes(std::uint64_t nodes, double share, double chance);

}  // namespace railhead::plan
