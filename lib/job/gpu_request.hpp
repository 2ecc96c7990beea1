// How many GPUs a Slurm resource string asks for.
//
// Slurm writes GPUs in many ways: "gpu:8", "gpu:h100:8", "gres:gpu:8" (up to 23.02),
// "gres/gpu:h100:8" (23.11 on), "gres/gpu=8" (TRES), several in one string, and slurm.conf's
// "gpu:h100:8(S:0-1)".  All of them are read here, and only here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::job {

/// So many GPUs of one type; an empty type means any.
struct GpuCount {
    std::string_view type;  ///< a view into the string that was parsed
    std::uint64_t count = 0;
};

/// The GPUs of a resource string, each type once, in the order first written; empty when it
/// names none.
struct GpuRequest {
    std::vector<GpuCount> parts;
    [[nodiscard]] std::uint64_t total() const;  ///< saturates
    /// The one type asked for; empty when none or more than one is named.
    [[nodiscard]] std::string_view type() const;
};

/// What two entries of the same type mean.
enum class Repeated : std::uint8_t {
    last_counts,  ///< in a request: "gpu:8,gpu:8" is 8, as sbatch writes --gpus-per-node and --gres
    add           ///< in slurm.conf's Gres=: "gpu:a100:4,gpu:a100:4" is 8
};

/// Reads any of the forms above.  A name without a count is one GPU, as for Slurm; counts may
/// carry Slurm's suffixes K, M, G, T, P (powers of 1024); "gpu:0" asks for none and is dropped.
/// Other resources in the string ("nic:2", "license:x") are skipped.
///
/// Fails with `bad_input` on a GPU entry that is not one of these forms ("gpu:", "gpu:a:b:c:1"),
/// and on more types than any node has.
[[nodiscard]] Result<GpuRequest> parse_gpus(std::string_view tres,
                                            Repeated repeated = Repeated::last_counts);

/// A count as Slurm writes it: "8", "2K" (1024 each step up to P, either case); nothing when it
/// is not one or does not fit.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);

}  // namespace railhead::job
