#include "checkpoint/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace railhead::checkpoint {

double young_s(const Timing& timing) {
    return std::sqrt(2 * timing.cost_s() * timing.mtbf_s());
}

double daly_first_order_s(const Timing& timing) {
    return std::sqrt(2 * timing.cost_s() * (timing.mtbf_s() + timing.restart_s())) -
           timing.cost_s();
}

double daly_s(const Timing& timing) {
    const auto ratio = timing.cost_s() / (2 * timing.mtbf_s());
    if (ratio >= 1) {
        return timing.mtbf_s();
    }
    return young_s(timing) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - timing.cost_s();
}

double optimum_s(const Timing& timing) {
    // With x = τ / M and d = δ / M the derivative of the wall time is 0 where x + exp(-(x + d)) =
    // 1: x = 1 + W0(-exp(-d - 1)).  Solved in this form, it stays exact for a small d, where the
    // argument of W0 rounds to its branch point.  The left side is convex and grows: Newton's steps
    // from above never cross the root, and Young's interval and M are above.
    const auto d = timing.cost_s() / timing.mtbf_s();
    auto x = std::min(std::sqrt(2 * d), 1.0);
    constexpr int enough = 60;
    for (int i = 0; i < enough; ++i) {
        const auto step = (x + std::expm1(-(x + d))) / -std::expm1(-(x + d));
        x -= step;
        if (std::abs(step) <= x * std::numeric_limits<double>::epsilon()) {
            break;
        }
    }
    return x * timing.mtbf_s();
}

double stretch(const Timing& timing, double interval_s) {
    if (!(interval_s > 0)) {
        return std::numeric_limits<double>::infinity();
    }
    const auto m = timing.mtbf_s();
    return m * std::exp((timing.restart_s() + timing.background_s()) / m) *
           std::expm1((interval_s + timing.cost_s()) / m) / interval_s;
}

Shares shares_of(const Timing& timing, double interval_s) {
    Shares shares;
    shares.useful = 1 / stretch(timing, interval_s);
    if (shares.useful > 0) {
        shares.checkpoints = shares.useful * timing.cost_s() / interval_s;
    }
    shares.failures = std::max(0.0, 1 - shares.useful - shares.checkpoints);
    return shares;
}

std::vector<CurvePoint> cost_curve(const Timing& timing, double from_s, double to_s,
                                   std::size_t points) {
    std::vector<CurvePoint> curve;
    curve.reserve(points);
    for (std::size_t i = 0; i < points; ++i) {
        const auto along = static_cast<double>(i) / static_cast<double>(points - 1);
        const auto interval_s = from_s * std::pow(to_s / from_s, along);
        curve.push_back({interval_s, shares_of(timing, interval_s).waste()});
    }
    return curve;
}

}  // namespace railhead::checkpoint
