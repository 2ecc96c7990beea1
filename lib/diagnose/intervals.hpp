// Spans of time that overlap: how long is at least one of them on, and how long without others?
#pragma once

#include <cstddef>
#include <vector>

namespace railhead::diagnose {

struct Interval {
    double begin = 0, end = 0;
    bool operator==(const Interval&) const = default;
};

/// Intervals in order, none touching another: what united() gives.
using Spans = std::vector<Interval>;

/// What is covered by at least one of `intervals`, in any order; those of no length are left out.
[[nodiscard]] Spans united(std::vector<Interval> intervals);
/// What of `spans` lies in `window`.
[[nodiscard]] Spans within(const Spans& spans, Interval window);
/// What of `spans` is not covered by `others`.
[[nodiscard]] Spans without(const Spans& spans, const Spans& others);
[[nodiscard]] double length_of(const Spans& spans);

/// Collects intervals in bounded memory: those that overlap become one as they come near the limit.
class IntervalSet {
 public:
    static constexpr std::size_t limit = std::size_t{1} << 21U;  // 32 MiB

    /// False where there is no room left: the intervals lie apart, and more of them than the limit.
    bool add(Interval interval);
    [[nodiscard]] Spans spans() const { return united(intervals_); }

 private:
    std::vector<Interval> intervals_;
    bool full_ = false;
};

}  // namespace railhead::diagnose
