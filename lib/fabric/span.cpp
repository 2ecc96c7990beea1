#include "fabric/span.hpp"

#include <algorithm>
#include <functional>

#include "fabric/fabric.hpp"

namespace railhead::fabric {

namespace {

/// Larger leaves than this are sorted, not counted.
constexpr std::uint32_t most_counted = 4096;

}  // namespace

SpanTable::SpanTable(std::span<const std::uint32_t> sizes) {
    // Leaves are many and of few sizes: how often each size is there takes less time than sorting.
    const auto largest = sizes.empty() ? 0U : *std::ranges::max_element(sizes);
    held_.reserve(sizes.size());
    std::uint64_t sum = 0;
    if (largest <= most_counted) {
        std::vector<std::uint32_t> times(largest + 1);
        for (const auto size : sizes) {
            ++times[size];
        }
        for (auto size = largest; size > 0; --size) {
            for (; times[size] > 0; --times[size]) {
                held_.push_back(sum += size);
            }
        }
        return;
    }
    std::vector<std::uint32_t> sorted{sizes.begin(), sizes.end()};
    std::ranges::sort(sorted, std::greater{});
    for (const auto size : sorted) {
        if (size > 0) {
            held_.push_back(sum += size);
        }
    }
}

std::uint32_t SpanTable::least(std::uint64_t nodes) const {
    const auto enough = std::ranges::lower_bound(held_, nodes);
    if (nodes == 0 || enough == held_.end()) {
        return 0;
    }
    return static_cast<std::uint32_t>(enough - held_.begin() + 1);
}

std::uint32_t minimal_span(std::span<const std::uint32_t> sizes, std::uint32_t nodes) {
    // A heap, not a sort: few leaves are taken out of many.
    std::vector<std::uint32_t> left{sizes.begin(), sizes.end()};
    std::ranges::make_heap(left);
    std::uint32_t span = 0;
    for (std::uint64_t held = 0; held < nodes; ++span) {
        if (left.empty() || left.front() == 0) {
            return 0;
        }
        held += left.front();
        std::ranges::pop_heap(left);
        left.pop_back();
    }
    return span;
}

}  // namespace railhead::fabric
