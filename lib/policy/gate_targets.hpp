// What a site wants of its cluster and of its jobs: the targets of `railhead gate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::policy {

/// A figure of [gate], and where it stands.
struct GateTarget {
    double value = 0;
    Position where;
};

/// The least MFU on one accelerator, which is named as in the catalogue.
struct AcceleratorTarget {
    std::string accelerator;
    GateTarget target;
};

/// What is absent has the default of `railhead gate`.  Shares are of 1.
struct GateTargets {
    std::optional<GateTarget> mfu;               ///< at least; of any accelerator
    std::vector<AcceleratorTarget> mfu_of;       ///< at least; of these, in place of defaults
    std::optional<GateTarget> all_reduce;        ///< at most; of the window
    std::optional<GateTarget> interval;          ///< at most so many times the optimum, or a part
    std::optional<GateTarget> recovery_s;        ///< at most
    std::optional<GateTarget> completion;        ///< at least; of the attempts that ended
    std::optional<GateTarget> idle_s;            ///< at most; of a node, between two jobs
    std::optional<GateTarget> utilization;       ///< at least; of GPU time in service
    std::optional<GateTarget> checkpoint_share;  ///< at most; of the interval
    std::optional<GateTarget> loader_share;      ///< at most; of a step
};

}  // namespace railhead::policy
