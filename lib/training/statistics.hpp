// Robust statistics of a series: middle, spread, trend, the place where its level changed.
//
// Nonparametric throughout: step times have tails, and a mean follows them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace railhead::training {

struct Quartiles {
    double q1 = 0, median = 0, q3 = 0;
};
/// By linear interpolation (Hyndman and Fan's type 7); all 0 of nothing.
[[nodiscard]] Quartiles quartiles_of(std::span<const double> values);
[[nodiscard]] double median_of(std::span<const double> values);
/// 1.4826 times the median distance from the median: the standard deviation where noise is normal.
[[nodiscard]] double spread_of(std::span<const double> values);

struct Trend {
    double slope = 0;    ///< a step of the series: Theil (1950), Sen (1968)
    double p_value = 1;  ///< of no trend: Mann (1945), Kendall (1975), two-sided, ties counted
};
/// Long series are looked at by the medians of 256 equal blocks.  Nothing for fewer than 8 values.
[[nodiscard]] std::optional<Trend> trend_of(std::span<const double> values);

/// Where a level ends: values[0, at) and [at, size) differ.
struct Change {
    std::size_t at = 0;
    std::size_t from = 0;     ///< the first value that has left the level before
    std::size_t settled = 0;  ///< the first of the new level
    double before = 0, after = 0;
};

/// A change must be this share of the level: smaller ones are common in healthy runs.
constexpr double least_change = 0.02;

/// The clearest change of level, if there is one.
///
/// From 12 values on: Pettitt's test (1979) at p < 0.001, medians `least_change` and three times
/// the spread apart, and two levels fit better than a slope.  From 5 to 11, where no rank test can
/// reach such p: at least two on each side, all on one side beyond all on the other, and the gap
/// between the sides three times as wide as either is.
[[nodiscard]] std::optional<Change> find_change(std::span<const double> values);

/// All changes, in order: each stretch between two is looked at again.
[[nodiscard]] std::vector<Change> find_changes(std::span<const double> values);

}  // namespace railhead::training
