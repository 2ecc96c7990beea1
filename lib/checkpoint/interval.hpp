// How much work to do between two checkpoints, and what any interval costs.
//
// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS
// 22 (2006); J. W. Young, CACM 17 (1974).  Failures are exponential in time with mean M, and may
// also strike a checkpoint or a restart.  An interval (τ) is the work between two checkpoints; the
// cost (δ) comes on top.  All times are seconds.
#pragma once

#include <cstddef>
#include <vector>

#include "checkpoint/timing.hpp"

namespace railhead::checkpoint {

/// Young: sqrt(2 δ M).  Within 1 % of the optimum up to δ = M / 2500, then too long: by 3 % at
/// δ = M / 300, by 34 % at δ = M / 3.
[[nodiscard]] double young_s(const Timing& timing);

/// Daly, first order: sqrt(2 δ (M + R)) - δ.  Zero or less, so of no use, where δ is about 2 (M +
/// R).
[[nodiscard]] double daly_first_order_s(const Timing& timing);

/// Daly, eq. 37: sqrt(2 δ M) (1 + sqrt(δ / 2M) / 3 + (δ / 2M) / 9) - δ while δ < 2 M, else M.
/// Within 0.1 % of the optimum up to δ = M / 6, 2 % below it at δ = M, 6 % above it at δ = 2 M.
[[nodiscard]] double daly_s(const Timing& timing);

/// The least wall time of Daly's model: M (1 + W0(-exp(-δ / M - 1))), W0 being Lambert's function.
/// Neither restart time nor a write in the background enters.
[[nodiscard]] double optimum_s(const Timing& timing);

/// Wall time over working time, eq. 20 of Daly: T / Ts = M exp((R + B) / M) (exp((τ + δ) / M) - 1)
/// / τ.
///
/// B is the write in the background: until it ends, a failure goes back one checkpoint further.  A
/// commit needs τ + δ after the last one, but τ + δ + B after a restart; the expectation of that
/// renewal is Daly's with R + B for R.  Holds for τ >= B; 1 at best, infinite where nothing is ever
/// finished, as for an interval of 0 or less.
[[nodiscard]] double stretch(const Timing& timing, double interval_s);

/// Where the time goes, in shares of the wall time; `useful` is the ETTR.  They add up to 1.
struct Shares {
    double useful = 0;
    double checkpoints = 0;  ///< checkpoints that were completed and counted
    double failures = 0;     ///< work and checkpoints lost to failures, and restarts
    [[nodiscard]] double waste() const { return 1 - useful; }
};
[[nodiscard]] Shares shares_of(const Timing& timing, double interval_s);

struct CurvePoint {
    double interval_s = 0;
    double waste = 0;  ///< share of the wall time that is lost
};
/// `points` (at least 2) intervals from `from_s` to `to_s`, evenly spaced by ratio; 0 < from_s <
/// to_s.
[[nodiscard]] std::vector<CurvePoint> cost_curve(const Timing& timing, double from_s, double to_s,
                                                 std::size_t points);

}  // namespace railhead::checkpoint
