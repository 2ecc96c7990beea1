// Checkpoints on two levels: often to memory, now and then to shared storage.
//
// A copy in local memory, or in that of a peer, is quick and survives the failure of a process; the
// failure of a node goes back to storage.  With copies on peers some node failures count as process
// failures here: what matters is which copy is left.  Failures are exponential, of both kinds at
// once, and may strike checkpoints and restarts.  The idea is N. H. Vaidya's, "A case for two-level
// distributed recovery schemes" (SIGMETRICS 1995); the expectation is the exact one of the Markov
// chain.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace railhead::checkpoint {

/// All times in seconds.
struct TwoLevels {
    double process_mtbf_s = 0;  ///< between failures that a copy in memory survives
    double node_mtbf_s = 0;     ///< between failures that only the copy on storage survives
    double memory_cost_s = 0;   ///< how long training stands still for a copy in memory
    double storage_cost_s = 0;  ///< the same for storage, beside that for memory
    double memory_restart_s = 0;
    double storage_restart_s = 0;
};

/// A copy in memory after each interval_s of work, every `memory_per_storage`-th of them to storage
/// too.
struct Pattern {
    double interval_s = 0;
    std::uint64_t memory_per_storage = 1;
};

/// Wall time over working time: 1 at best, infinite where nothing is ever finished.
///
/// With every checkpoint on storage and no process failures to speak of this is stretch().  Fails
/// with `bad_input` unless the times are as Timing::make() wants them, the interval is positive,
/// and 1 <= memory_per_storage <= 100,000.
[[nodiscard]] Result<double> stretch(const TwoLevels& levels, const Pattern& pattern);

/// The pattern of the least wall time.  Fails as stretch().
[[nodiscard]] Result<Pattern> best_pattern(const TwoLevels& levels);

}  // namespace railhead::checkpoint
