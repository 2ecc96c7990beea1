// The share of a run's wall time that trains: effective training time ratio (ETTR).
//
// The linear forms are those of Kokolis et al., "Revisiting Reliability in Large-Scale Machine
// Learning Research Clusters", arXiv:2410.21680.  They count at most one failure for each
// checkpoint, so they are below the truth where failures are as frequent as checkpoints; there the
// renewal form holds.
#pragma once

#include "checkpoint/timing.hpp"

namespace railhead::checkpoint {

/// Version 1 of the paper: 1 - (u0 + Δt / 2) / MTTF, u0 being the restart time; a checkpoint costs
/// nothing.  0 where the formula is negative.
[[nodiscard]] double ettr_v1(const Timing& timing, double interval_s);

/// Version 2: (1 - (u0 + Δt / 2) / MTTF) / (1 + w / Δt), w being the cost of a checkpoint; 0 where
/// the formula is negative.  The paper found it within 5 % of a Monte Carlo model at 8000 GPUs.
[[nodiscard]] double ettr_v2(const Timing& timing, double interval_s);

/// Working time over wall time of Daly's exponential renewal model; in [0, 1) for any interval.
[[nodiscard]] double ettr_renewal(const Timing& timing, double interval_s);

}  // namespace railhead::checkpoint
