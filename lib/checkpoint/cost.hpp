// How large a checkpoint is and how long its write takes, before anybody measured it.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "training/recipe.hpp"

namespace railhead::checkpoint {

using training::find_recipe;
using training::Recipe;
using training::recipes;
using training::usual_recipe;

/// Who writes where.
struct Store {
    double bytes_per_s = 0;       ///< of the shared storage as a whole
    double node_bytes_per_s = 0;  ///< the most that one node can write; 0: no limit
    std::uint64_t nodes = 0;      ///< that write; counts with node_bytes_per_s only
    std::uint64_t writers = 1;    ///< jobs that write at the same time and share it evenly
};

/// What is left for this job: the least of bytes_per_s / writers and nodes × node_bytes_per_s.
///
/// Fails with `bad_input` unless bytes_per_s is positive, node_bytes_per_s is not negative and,
/// where it is set, there are nodes; and unless there is a writer.
[[nodiscard]] Result<double> write_bandwidth(const Store& store);

/// Seconds for `bytes` at that bandwidth; fails as write_bandwidth(), and unless bytes are
/// positive.
[[nodiscard]] Result<double> write_time_s(double bytes, const Store& store);

/// A write, divided into what training waits for and what goes on beside it.
struct Blocking {
    double cost_s = 0;
    double background_s = 0;
};

/// A write of `write_s` that stops training for `stall_s`, as asynchronous checkpoints do: the copy
/// to host memory blocks, the rest does not.  A stall longer than the write has no background.
[[nodiscard]] Blocking divide_write(double write_s, double stall_s);

}  // namespace railhead::checkpoint
