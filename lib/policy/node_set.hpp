// A set of a cluster's nodes, by index: a bit each, so that "in this partition, with this feature,
// less those" takes no longer with ten thousand nodes than a review may.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace railhead::policy {

class NodeSet {
 public:
    NodeSet() = default;
    /// None of the nodes 0 to `nodes` - 1.
    explicit NodeSet(std::size_t nodes) : words_((nodes + bits - 1) / bits) {}

    void add(std::uint32_t node) { words_[node / bits] |= bit(node); }
    void remove(std::uint32_t node) { words_[node / bits] &= ~bit(node); }
    [[nodiscard]] bool contains(std::uint32_t node) const {
        return (words_[node / bits] & bit(node)) != 0;
    }

    /// Keeps what is in both; the two must be of one cluster.
    NodeSet& operator&=(const NodeSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i] &= other.words_[i];
        }
        return *this;
    }

    [[nodiscard]] std::size_t count() const {
        std::size_t sum = 0;
        for (const auto word : words_) {
            sum += ones(word);
        }
        return sum;
    }

    /// How many of the nodes `first` to `last`, both included.
    [[nodiscard]] std::size_t count(std::uint32_t first, std::uint32_t last) const {
        const auto from_first = ~std::uint64_t{0} << (first % bits);
        const auto to_last = ~std::uint64_t{0} >> (bits - 1 - last % bits);
        const std::size_t begin = first / bits;
        const std::size_t end = last / bits;
        if (begin == end) {  // as most leaves are
            return ones(words_[begin] & from_first & to_last);
        }
        auto sum = ones(words_[begin] & from_first) + ones(words_[end] & to_last);
        for (auto i = begin + 1; i < end; ++i) {
            sum += ones(words_[i]);
        }
        return sum;
    }

    /// Calls `visit(node)` for each, ascending; it may remove the node that it is called for.
    template <class Visit>
    void each(Visit&& visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            for (auto word = words_[i]; word != 0; word &= word - 1) {
                visit(static_cast<std::uint32_t>(i * bits + static_cast<std::size_t>(std::countr_zero(word))));
            }
        }
    }

 private:
    static constexpr std::size_t bits = 64;
    /// std::popcount() is a call into libgcc where the build may not assume a CPU that has it.
    static std::size_t ones(std::uint64_t word) {
        word -= (word >> 1U) & 0x5555555555555555U;
        word = (word & 0x3333333333333333U) + ((word >> 2U) & 0x3333333333333333U);
        word = (word + (word >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
        return static_cast<std::size_t>((word * 0x0101010101010101U) >> 56U);
    }
    static std::uint64_t bit(std::uint32_t node) { return std::uint64_t{1} << (node % bits); }

    std::vector<std::uint64_t> words_;
};

}  // namespace railhead::policy
