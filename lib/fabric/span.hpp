// How few leaves a job can be held by.
//
// A job of n nodes touches the fewest leaves when it fills the largest first; that is all there
// is to it, so a table of running sums answers for every n at once.
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
    [[nodiscard]] std::uint64_t capacity() const { return held_.empty() ? 0 : held_.back(); }

 private:
    std::vector<std::uint64_t> held_;  ///< held_[i]: nodes of the i + 1 largest leaves
};

}  // namespace railhead::fabric
