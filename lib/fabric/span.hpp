// How few leaves a job can be held by.
//
// A job of n nodes touches the fewest leaves when it fills the largest first; that is all there
// is to it.  Leaves are many and of few sizes, so a line for each size answers for every n.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railhead::fabric {

/// The least spans of one set of leaves.  Made once, when the policy loads; asked at every review.
class SpanTable {
 public:
    SpanTable() = default;
    /// `sizes`: how many usable nodes each leaf has, in any order; empty leaves do not count.
    explicit SpanTable(std::span<const std::uint32_t> sizes);

    /// The least number of leaves that can hold `nodes` nodes; 0 when all together cannot.
    [[nodiscard]] std::uint32_t least(std::uint64_t nodes) const;

    /// The nodes of all leaves together.
    [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
    /// Leaves of one size, and what those that are larger hold.
    struct Run {
        std::uint64_t nodes_before = 0;
        std::uint32_t leaves_before = 0;
        std::uint32_t size = 0;
    };
    void add(std::uint32_t size, std::uint32_t times);

    std::vector<Run> runs_;  ///< the largest first
    std::uint64_t capacity_ = 0;
    std::uint32_t leaves_ = 0;
};

}  // namespace railhead::fabric
