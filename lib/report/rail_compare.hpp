// Which nodes have other rails than most, and what is other.
#pragma once

#include <string>
#include <vector>

#include "rails/fingerprint.hpp"

namespace railhead::report {

/// Nodes grouped by the fingerprint of their rails.
struct RailComparison {
    std::string text;      ///< for people: the largest group first, what each other one differs in
    bool is_same = false;  ///< one fingerprint on all of them
};

/// Compares nodes, at least one; a node that is there twice with the same line counts once.
///
/// Nodes of one fingerprint may name their NICs differently, or the list in another order.  That is
/// told, and does not make them differ: each then has an NCCL_IB_HCA of its own.
[[nodiscard]] RailComparison compare_rails(const std::vector<rails::RailIdentity>& nodes);

}  // namespace railhead::report
