#include "training/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace railhead::training {

namespace {

constexpr std::size_t blocks = 256;
constexpr std::size_t least_for_trend = 8;
constexpr std::size_t least_for_change = 5;
constexpr std::size_t least_for_ranks = 12;
constexpr double doubtful = 0.001;  // of Pettitt's p
constexpr double normal = 1.4826;   // median distance to standard deviation

double at_share(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) {
        return 0;
    }
    const auto place = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const auto high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::vector<double> sorted_copy(std::span<const double> values) {
    std::vector<double> sorted{values.begin(), values.end()};
    std::ranges::sort(sorted);
    return sorted;
}

/// Ranks from 1, those of equal values shared.
std::vector<double> ranks_of(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> ranks(values.size());
    for (std::size_t i = 0; i < order.size();) {
        auto end = i;
        while (end < order.size() && values[order[end]] == values[order[i]]) {
            ++end;
        }
        for (auto k = i; k < end; ++k) {
            ranks[order[k]] = 1 + static_cast<double>(i + end - 1) / 2;
        }
        i = end;
    }
    return ranks;
}

/// Medians of equal blocks, and how many values one stands for.
std::vector<double> pooled(std::span<const double> values, double& per_block) {
    if (values.size() <= blocks) {
        per_block = 1;
        return {values.begin(), values.end()};
    }
    std::vector<double> medians;
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto from = values.size() * i / blocks;
        const auto to = values.size() * (i + 1) / blocks;
        medians.push_back(median_of(values.subspan(from, to - from)));
    }
    per_block = static_cast<double>(values.size()) / blocks;
    return medians;
}

/// Adds the distances of the values from a level.
void add_distances(std::span<const double> values, double level, std::vector<double>& to) {
    for (const auto value : values) {
        to.push_back(std::abs(value - level));
    }
}

struct Split {
    std::size_t at = 0;
    double p_value = 1;
};

Split pettitt(std::span<const double> values) {
    const auto ranks = ranks_of(values);
    const auto n = static_cast<double>(values.size());
    double sum = 0;
    double most = 0;
    Split split;
    for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
        sum += 2 * ranks[i] - (n + 1);
        if (std::abs(sum) > most) {
            most = std::abs(sum);
            split.at = i + 1;
        }
    }
    split.p_value = 2 * std::exp(-6 * most * most / (n * n * n + n * n));
    return split;
}

/// Whether a slope describes the values as well as two levels do.
bool is_slope(std::span<const double> values, std::size_t at) {
    const auto trend = trend_of(values);
    if (!trend) {
        return false;
    }
    std::vector<double> rest;
    for (std::size_t i = 0; i < values.size(); ++i) {
        rest.push_back(values[i] - trend->slope * static_cast<double>(i));
    }
    const auto level = median_of(rest);
    double sloped = 0;
    double stepped = 0;
    const auto before = median_of(values.first(at));
    const auto after = median_of(values.subspan(at));
    for (std::size_t i = 0; i < values.size(); ++i) {
        sloped += std::abs(rest[i] - level);
        stepped += std::abs(values[i] - (i < at ? before : after));
    }
    return sloped <= stepped;
}

std::optional<std::size_t> split_many(std::span<const double> values) {
    const auto split = pettitt(values);
    if (split.at == 0 || split.p_value >= doubtful) {
        return std::nullopt;
    }
    const auto before = values.first(split.at);
    const auto after = values.subspan(split.at);
    std::vector<double> rest;
    const auto low = median_of(before);
    const auto high = median_of(after);
    add_distances(before, low, rest);
    add_distances(after, high, rest);
    const auto jump = std::abs(high - low);
    const bool clear = jump >= least_change * std::abs(low) && jump >= 3 * normal * median_of(rest);
    return clear && !is_slope(values, split.at) ? std::optional{split.at} : std::nullopt;
}

std::optional<std::size_t> split_few(std::span<const double> values) {
    std::optional<std::size_t> best;
    double widest = 0;
    for (std::size_t at = 2; at + 2 <= values.size(); ++at) {
        const auto [low1, high1] = std::ranges::minmax(values.first(at));
        const auto [low2, high2] = std::ranges::minmax(values.subspan(at));
        const auto gap = std::max(low2 - high1, low1 - high2);
        const auto width = std::max(high1 - low1, high2 - low2);
        const auto jump = std::abs(median_of(values.subspan(at)) - median_of(values.first(at)));
        if (gap > widest && gap >= 3 * width &&
            jump >= least_change * std::abs(median_of(values.first(at)))) {
            widest = gap;
            best = at;
        }
    }
    return best;
}

/// The values between two levels, on both sides of the split, are of neither.
Change describe(std::span<const double> values, std::size_t at) {
    Change change{at, at, at, 0, 0};
    const auto step = median_of(values.subspan(at)) - median_of(values.first(at));
    const auto away = [&](std::size_t i) {  // from the level before, in the direction of the change
        return (values[i] - median_of(values.first(change.from))) * (step < 0 ? -1 : 1);
    };
    constexpr double share = 0.15;   // of the change
    constexpr std::size_t slow = 4;  // values that a change may take
    const auto size = std::abs(step);
    while (change.from > 1 && at - change.from < slow && away(change.from - 1) > share * size &&
           values.first(change.from - 1).size() >= 2) {
        --change.from;
    }
    while (change.settled + 1 < values.size() && change.settled - at < slow &&
           away(change.settled + 1) > away(change.settled) + share * size) {
        ++change.settled;
    }
    change.before = median_of(values.first(change.from));
    change.after = median_of(values.subspan(change.settled));
    return change;
}

constexpr int deepest = 6;  // 63 changes at most

void look(std::span<const double> values, std::size_t offset, int depth,
          std::vector<Change>& found) {
    const auto change = depth < deepest ? find_change(values) : std::nullopt;
    if (!change) {
        return;
    }
    look(values.first(change->at), offset, depth + 1, found);
    found.push_back({change->at + offset, change->from + offset, change->settled + offset,
                     change->before, change->after});
    look(values.subspan(change->at), offset + change->at, depth + 1, found);
}

}  // namespace

Quartiles quartiles_of(std::span<const double> values) {
    const auto sorted = sorted_copy(values);
    return {at_share(sorted, 0.25), at_share(sorted, 0.5), at_share(sorted, 0.75)};
}

double median_of(std::span<const double> values) {
    std::vector<double> copy{values.begin(), values.end()};
    if (copy.empty()) {
        return 0;
    }
    const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
    std::ranges::nth_element(copy, middle);
    return copy.size() % 2 == 1 ? *middle : (*middle + *std::max_element(copy.begin(), middle)) / 2;
}

double spread_of(std::span<const double> values) {
    std::vector<double> rest;
    add_distances(values, median_of(values), rest);
    return normal * median_of(rest);
}

std::optional<Trend> trend_of(std::span<const double> values) {
    if (values.size() < least_for_trend) {
        return std::nullopt;
    }
    double per_block = 1;
    const auto points = pooled(values, per_block);
    std::vector<double> slopes;
    double rises = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (auto k = i + 1; k < points.size(); ++k) {
            const auto rise = points[k] - points[i];
            slopes.push_back(rise / static_cast<double>(k - i));
            rises += rise > 0 ? 1 : rise < 0 ? -1 : 0;
        }
    }
    std::map<double, double> ties;
    for (const auto point : points) {
        ++ties[point];
    }
    const auto n = static_cast<double>(points.size());
    auto variance = n * (n - 1) * (2 * n + 5);
    for (const auto& [value, count] : ties) {
        variance -= count * (count - 1) * (2 * count + 5);
    }
    const auto distance = std::max(0.0, std::abs(rises) - 1);
    const auto z = variance > 0 ? distance / std::sqrt(variance / 18) : 0;
    return Trend{median_of(slopes) / per_block, std::erfc(z / std::sqrt(2.0))};
}

std::optional<Change> find_change(std::span<const double> values) {
    if (values.size() < least_for_change) {
        return std::nullopt;
    }
    const auto at = values.size() < least_for_ranks ? split_few(values) : split_many(values);
    return at ? std::optional{describe(values, *at)} : std::nullopt;
}

std::vector<Change> find_changes(std::span<const double> values) {
    std::vector<Change> found;
    look(values, 0, 0, found);
    return found;
}

}  // namespace railhead::training
