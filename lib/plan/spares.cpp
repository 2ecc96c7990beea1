#include "plan/spares.hpp"

#include <cmath>

namespace railhead::plan {

namespace {

/// ln of the chance that exactly `out` of `nodes` are out.
double log_chance(double nodes, double out, double share) {
    return std::lgamma(nodes + 1) - std::lgamma(out + 1) - std::lgamma(nodes - out + 1) +
           out * std::log(share) + (nodes - out) * std::log1p(-share);
}

/// The chance that at most `out` are.
double chance_of(double nodes, std::uint64_t out, double share) {
    double sum = 0;
    for (std::uint64_t one = 0; one <= out; ++one) {
        sum += std::exp(log_chance(nodes, static_cast<double>(one), share));
    }
    return sum;
}

}  // namespace

double unavailability(double per_1000_node_days, double repair_s) {
    constexpr double day_s = 86400;
    const auto down = per_1000_node_days / 1000 * repair_s / day_s;
    return down / (1 + down);
}

std::uint64_t spare_nodes(std::uint64_t nodes, double share, double chance) {
    if (!(share > 0)) {
        return 0;
    }
    const auto in_use = static_cast<double>(nodes);
    // Below the mean none is enough.
    auto spares = static_cast<std::uint64_t>(in_use * share);
    while (chance_of(in_use + static_cast<double>(spares), spares, share) < chance) {
        ++spares;
    }
    return spares;
}

}  // namespace railhead::plan
