// How large a checkpoint is and how long its write takes, before anybody measured it.
//
// Bytes per parameter: Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 3.1, and the table of
// Megatron-LM's distributed optimizer.  Sharding spreads them over ranks but changes no sum.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace railhead::checkpoint {

/// What training keeps of one parameter, in bytes.
struct Recipe {
    std::string_view name;  ///< as people type it: "adam-mixed"
    double weights = 0;
    double gradients = 0;
    double optimizer = 0;  ///< with the fp32 master weights, where the weights are of 16 bits
    std::string_view what;
    [[nodiscard]] double in_memory() const { return weights + gradients + optimizer; }
    /// Gradients are not saved: the next step makes them anew.
    [[nodiscard]] double in_checkpoint() const { return weights + optimizer; }
};

[[nodiscard]] std::span<const Recipe> recipes();
/// The recipe of this name, without regard to case; null when there is none.
[[nodiscard]] const Recipe* find_recipe(std::string_view name);
/// 16-bit weights with fp32 master weights and Adam: how most large models are trained.
[[nodiscard]] const Recipe& usual_recipe();

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
