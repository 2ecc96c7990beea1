#include "fabric/span.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "fabric/fabric.hpp"

namespace railhead::fabric {

namespace {

/// Larger leaves than this are sorted, not counted.
constexpr std::uint32_t most_counted = 4096;

}  // namespace

SpanTable::SpanTable(std::span<const std::uint32_t> sizes) {
    const auto largest = sizes.empty() ? 0U : *std::ranges::max_element(sizes);
    if (largest <= most_counted) {
        std::vector<std::uint32_t> times(largest + 1);
        for (const auto size : sizes) {
            ++times[size];
        }
        for (auto size = largest; size > 0; --size) {
            add(size, times[size]);
        }
        return;
    }
    std::vector<std::uint32_t> sorted{sizes.begin(), sizes.end()};
    std::ranges::sort(sorted, std::greater{});
    for (const auto size : sorted) {
        add(size, 1);
    }
}

void SpanTable::add(std::uint32_t size, std::uint32_t times) {
    if (size == 0 || times == 0) {
        return;
    }
    if (runs_.empty() || runs_.back().size != size) {
        runs_.push_back({capacity_, leaves_, size});
    }
    capacity_ += std::uint64_t{size} * times;
    leaves_ += times;
}

std::uint32_t SpanTable::least(std::uint64_t nodes) const {
    if (nodes == 0 || nodes > capacity_) {
        return 0;
    }
    // The last run that some of the nodes are left for.
    const auto past = std::ranges::lower_bound(runs_, nodes, {}, &Run::nodes_before);
    const auto& run = *std::prev(past);
    const auto left = nodes - run.nodes_before;
    return run.leaves_before + static_cast<std::uint32_t>((left + run.size - 1) / run.size);
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
