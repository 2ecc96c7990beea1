// The placement of allocations as text for people and as JSON.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "policy/verify.hpp"

namespace railhead::report {

/// A job, or a part of one, and where it is.
struct PlacedJob {
    std::string
        job;  ///< "12", "12_3" of an array, "12+1" of a heterogeneous job; empty: only nodes
    std::string state;                           ///< in Slurm's words; empty: only nodes
    std::optional<policy::Placement> placement;  ///< none: it has no nodes
};

/// Each job's nodes, its span against the minimal one at every level, and its leaves.  80 columns.
[[nodiscard]] std::string placement_text(std::span<const PlacedJob> jobs);

/// The same as JSON, schema "railhead.placement/1": docs/man/railhead.1.md has its fields.
[[nodiscard]] std::string placement_json(std::span<const PlacedJob> jobs);

}  // namespace railhead::report
