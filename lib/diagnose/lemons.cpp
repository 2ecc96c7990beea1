#include "diagnose/lemons.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/gamma.hpp"

namespace railhead::diagnose {

namespace {

constexpr double thousand_days_s = 1000 * 86400.0;

/// ln of P(X = k): the product of k factors, since std::lgamma writes to a global variable.
/// (1-p)^(n-k) comes last, so that nothing is lost to underflow.
double log_chance(std::uint64_t k, std::uint64_t n, double p) {
    double sum = 0;
    for (std::uint64_t i = 0; i < k; ++i) {
        sum += std::log(static_cast<double>(n - i) / static_cast<double>(k - i));
    }
    return sum + static_cast<double>(k) * std::log(p) + static_cast<double>(n - k) * std::log1p(-p);
}

/// The sum of P(X = k), P(X = k + 1), ...: quick for k above the mean.
double sum_up(std::uint64_t k, std::uint64_t n, double p) {
    double term = std::exp(log_chance(k, n, p));
    double sum = 0;
    for (; k <= n && term > sum * 1e-17; ++k) {
        sum += term;
        term *= static_cast<double>(n - k) / static_cast<double>(k + 1) * p / (1 - p);
    }
    return std::min(sum, 1.0);
}

/// P(X <= k), from k down: quick for k below the mean.
double sum_down(std::uint64_t k, std::uint64_t n, double p) {
    double term = std::exp(log_chance(k, n, p));
    double sum = term;
    for (; k > 0 && term > sum * 1e-17; --k) {
        term *= static_cast<double>(k) / static_cast<double>(n - k + 1) * (1 - p) / p;
        sum += term;
    }
    return std::min(sum, 1.0);
}

/// The least number of failures whose chance at this mean is at most `chance`.
std::uint64_t needed_at(double mean, double chance) {
    std::uint64_t k = 1;
    while (checkpoint::gamma_p(static_cast<double>(k), mean) > chance) {
        ++k;
    }
    return k;
}

double found_at(double mean, double times, double chance) {
    return checkpoint::gamma_p(static_cast<double>(needed_at(mean, chance)), times * mean);
}

LemonPower power_of(std::span<const NodeCount> tested, double rate_per_s, double rate) {
    std::vector<double> exposures;
    for (const auto& node : tested) {
        exposures.push_back(node.exposure_s);
    }
    const auto middle = exposures.begin() + static_cast<std::ptrdiff_t>(exposures.size() / 2);
    std::ranges::nth_element(exposures, middle);
    constexpr double often = 0.9;
    // Of one lemon alone: where there are more, each of them needs less.
    const double chance = rate / static_cast<double>(tested.size());
    LemonPower power;
    power.exposure_s = *middle;
    const double mean = rate_per_s * power.exposure_s;
    power.needed = needed_at(mean, chance);
    power.chance = found_at(mean, power.times, chance);
    power.times_found =
        checkpoint::gamma_p_inverse(static_cast<double>(power.needed), often) / mean;
    constexpr double most_mean = 1000;  // failures a node: far more than are needed
    for (double needed = 1e-2; needed < most_mean; needed *= 1.02) {
        if (found_at(needed, power.times, chance) >= often) {
            power.exposure_needed_s = needed / rate_per_s;
            break;
        }
    }
    return power;
}

}  // namespace

double binomial_tail(std::uint64_t k, std::uint64_t n, double p) {
    if (k == 0 || p >= 1) {
        return k <= n ? 1 : 0;
    }
    if (k > n || !(p > 0)) {
        return 0;
    }
    if (static_cast<double>(k) > static_cast<double>(n) * p) {
        return sum_up(k, n, p);
    }
    return 1 - sum_down(k - 1, n, p);
}

std::vector<bool> stand_out(std::span<const double> chances, double rate) {
    std::vector<std::size_t> order(chances.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return chances[i]; });
    std::size_t count = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto limit = rate * static_cast<double>(i + 1) / static_cast<double>(order.size());
        if (chances[order[i]] <= limit) {
            count = i + 1;
        }
    }
    std::vector<bool> out(chances.size(), false);
    for (std::size_t i = 0; i < count; ++i) {
        out[order[i]] = true;
    }
    return out;
}

Result<LemonAnswer> find_lemons(std::span<const NodeCount> nodes, double false_discovery_rate) {
    if (!(false_discovery_rate > 0 && false_discovery_rate < 1)) {
        return fail(Errc::bad_input,
                    fmt::format("a false discovery rate of {:g}: it lies between 0 and 1",
                                false_discovery_rate));
    }
    LemonAnswer answer;
    answer.false_discovery_rate = false_discovery_rate;
    std::vector<NodeCount> tested;
    std::ranges::copy_if(nodes, std::back_inserter(tested),
                         [](const NodeCount& node) { return node.exposure_s > 0; });
    if (tested.size() < 2) {
        return fail(Errc::bad_input,
                    fmt::format("{} with exposure: a node is compared with the others",
                                count_of(tested.size(), "node")));
    }
    for (const auto& node : tested) {
        answer.failures += node.failures;
        answer.exposure_s += node.exposure_s;
    }
    answer.nodes = tested.size();
    const double rate_per_s = static_cast<double>(answer.failures) / answer.exposure_s;
    answer.per_1000_node_days = rate_per_s * thousand_days_s;
    if (answer.failures == 0) {
        return answer;
    }
    std::vector<double> chances;
    for (const auto& node : tested) {
        chances.push_back(
            binomial_tail(node.failures, answer.failures, node.exposure_s / answer.exposure_s));
    }
    const auto out = stand_out(chances, false_discovery_rate);
    for (std::size_t i = 0; i < tested.size(); ++i) {
        if (out[i]) {
            const auto& node = tested[i];
            const auto own = static_cast<double>(node.failures);
            answer.lemons.push_back({node, own / node.exposure_s * thousand_days_s,
                                     (static_cast<double>(answer.failures) - own) /
                                         (answer.exposure_s - node.exposure_s) * thousand_days_s,
                                     chances[i]});
        }
    }
    std::ranges::stable_sort(answer.lemons, {}, &LemonNode::chance);
    answer.power = power_of(tested, rate_per_s, false_discovery_rate);
    return answer;
}

}  // namespace railhead::diagnose
