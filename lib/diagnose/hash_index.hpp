// Finds numbers by a hash, among many: what a reader looks up for each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace railhead::diagnose {

/// A hash of 64 bits, eight bytes at a time: fast, neither stable nor secret.
[[nodiscard]] inline std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = seed ^ (text.size() * odd);
    const auto mix = [&](std::uint64_t word) {
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29U;
    };
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; left -= 8, at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        mix(word);
    }
    if (left > 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, left);
        mix(word);
    }
    return hash;
}

/// Asks for the memory at `address` ahead of its use.
inline void prefetch(const void* address) {
    __builtin_prefetch(address);
}

/// Numbers by hash, in open addressing.  It does not know keys: the caller compares them.
class HashIndex {
 public:
    /// The first number with this hash that `same` says yes to; null where there is none.
    template <class Same>
    [[nodiscard]] const std::uint32_t* find(std::uint64_t hash, const Same& same) const {
        if (slots_.empty()) {
            return nullptr;
        }
        for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
            const Slot& slot = slots_[at];
            if (!slot.is_used) {
                return nullptr;
            }
            if (slot.hash == hash && same(slot.number)) {
                return &slot.number;
            }
        }
    }
    void insert(std::uint64_t hash, std::uint32_t number) {
        if (2 * (used_ + 1) > slots_.size()) {
            grow();
        }
        place({hash, number, true});
        ++used_;
    }
    [[nodiscard]] std::size_t size() const { return used_; }
    /// Asks for where find() looks first.
    void prefetch(std::uint64_t hash) const {
        if (!slots_.empty()) {
            diagnose::prefetch(&slots_[hash & mask()]);
        }
    }

 private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t number = 0;
        bool is_used = false;
    };
    [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
    void place(const Slot& slot) {
        std::size_t at = slot.hash & mask();
        while (slots_[at].is_used) {
            at = (at + 1) & mask();
        }
        slots_[at] = slot;
    }
    void grow() {
        const std::vector<Slot> old{std::move(slots_)};
        slots_.assign(old.empty() ? 64 : 2 * old.size(), Slot{});
        for (const Slot& slot : old) {
            if (slot.is_used) {
                place(slot);
            }
        }
    }
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace railhead::diagnose
