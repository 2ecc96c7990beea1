#include "diagnose/intervals.hpp"

#include <algorithm>
#include <utility>

namespace railhead::diagnose {

Spans united(std::vector<Interval> intervals) {
    std::erase_if(intervals, [](const Interval& i) { return !(i.begin < i.end); });
    std::ranges::sort(intervals, {}, &Interval::begin);
    Spans spans;
    for (const auto& interval : intervals) {
        if (!spans.empty() && interval.begin <= spans.back().end) {
            spans.back().end = std::max(spans.back().end, interval.end);
        } else {
            spans.push_back(interval);
        }
    }
    return spans;
}

Spans within(const Spans& spans, Interval window) {
    Spans inside;
    for (const auto& span : spans) {
        const Interval cut{std::max(span.begin, window.begin), std::min(span.end, window.end)};
        if (cut.begin < cut.end) {
            inside.push_back(cut);
        }
    }
    return inside;
}

Spans without(const Spans& spans, const Spans& others) {
    Spans left;
    auto other = others.begin();
    for (auto span : spans) {
        while (other != others.end() && other->end <= span.begin) {
            ++other;
        }
        for (auto next = other; next != others.end() && next->begin < span.end; ++next) {
            if (span.begin < next->begin) {
                left.push_back({span.begin, next->begin});
            }
            span.begin = std::max(span.begin, std::min(next->end, span.end));
        }
        if (span.begin < span.end) {
            left.push_back(span);
        }
    }
    return left;
}

double length_of(const Spans& spans) {
    double length = 0;
    for (const auto& span : spans) {
        length += span.end - span.begin;
    }
    return length;
}

bool IntervalSet::add(Interval interval) {
    if (full_) {
        return false;
    }
    if (intervals_.size() == limit) {
        intervals_ = united(std::exchange(intervals_, {}));
        // Else it would be sorted again and again for the sake of a few.
        full_ = intervals_.size() > limit / 2;
        if (full_) {
            return false;
        }
    }
    intervals_.push_back(interval);
    return true;
}

}  // namespace railhead::diagnose
