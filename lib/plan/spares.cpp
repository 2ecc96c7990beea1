#include "plan/spares.hpp"

#include <algorithm>
#include <cmath>

namespace railhead::plan {

namespace {

/// ln of the chance that exactly `out` of `nodes` are out.
double log_chance(double nodes, double out, double share) {
    return std::lgamma(nodes + 1) - std::lgamma(out + 1) - std::lgamma(nodes - out + 1) +
           out * std::log(share) + (nodes - out) * std::log1p(-share);
}

/// The chance that at most `out` are.  Terms far below the mean are left out: they are 0.
double chance_of(double nodes, std::uint64_t out, double share) {
    constexpr double deviations = 12;
    const auto mean = nodes * share;
    const auto least = std::max(0.0, std::floor(mean - deviations * std::sqrt(mean)));
    double sum = 0;
    for (auto one = least; one <= static_cast<double>(out); ++one) {
        sum += std::exp(log_chance(nodes, one, share));
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
    if (!(share > 0) || nodes == 0) {
        return 0;
    }
    const auto is_enough = [&](std::uint64_t spares) {
        const auto all = static_cast<double>(nodes + spares);
        return chance_of(all, spares, share) >= chance;
    };
    if (is_enough(0)) {
        return 0;
    }
    std::uint64_t enough = 1;
    while (!is_enough(enough)) {
        enough *= 2;
    }
    auto too_few = enough / 2;
    while (enough - too_few > 1) {
        const auto middle = too_few + (enough - too_few) / 2;
        (is_enough(middle) ? enough : too_few) = middle;
    }
    return enough;
}

}  // namespace railhead::plan
