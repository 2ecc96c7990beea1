#include "base/cpu_set.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead {

namespace {
constexpr unsigned word_bits = 64;
constexpr unsigned mask_bits = sizeof(unsigned long) * CHAR_BIT;
}

void CpuSet::add(unsigned cpu) {
    if (cpu >= limit) {
        return;
    }
    const auto word = cpu / word_bits;
    if (word >= words_.size()) {
        words_.resize(word + 1);
    }
    words_[word] |= std::uint64_t{1} << (cpu % word_bits);
}

void CpuSet::remove(unsigned cpu) {
    if (contains(cpu)) {
        words_[cpu / word_bits] &= ~(std::uint64_t{1} << (cpu % word_bits));
        shrink();
    }
}

bool CpuSet::contains(unsigned cpu) const {
    const auto word = cpu / word_bits;
    return word < words_.size() && ((words_[word] >> (cpu % word_bits)) & 1U) != 0;
}

bool CpuSet::meets(const CpuSet& other) const {
    const auto words = std::min(words_.size(), other.words_.size());
    for (std::size_t i = 0; i < words; ++i) {
        if ((words_[i] & other.words_[i]) != 0) {
            return true;
        }
    }
    return false;
}

bool CpuSet::empty() const {
    return words_.empty();
}

unsigned CpuSet::size() const {
    unsigned count = 0;
    for (const auto word : words_) {
        count += static_cast<unsigned>(std::popcount(word));
    }
    return count;
}

std::vector<unsigned> CpuSet::cpus() const {
    std::vector<unsigned> numbers;
    numbers.reserve(size());
    for (unsigned cpu = 0; cpu < words_.size() * word_bits; ++cpu) {
        if (contains(cpu)) {
            numbers.push_back(cpu);
        }
    }
    return numbers;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
    words_.resize(std::min(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < words_.size(); ++i) {
        words_[i] &= other.words_[i];
    }
    shrink();
    return *this;
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
    words_.resize(std::max(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
        words_[i] |= other.words_[i];
    }
    return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) {
        words_[i] &= ~other.words_[i];
    }
    shrink();
    return *this;
}

void CpuSet::shrink() {
    while (!words_.empty() && words_.back() == 0) {
        words_.pop_back();
    }
}

Result<CpuSet> parse_cpu_list(std::string_view text) {
    CpuSet set;
    text = trim(text);
    if (text.empty()) {
        return set;
    }
    std::size_t named = 0;  // a list that names CPUs over and over only costs time
    for (const auto part : split(text, ',')) {
        const auto dash = part.find('-');
        const auto first = parse_number<unsigned>(trim(part.substr(0, dash)));
        const auto last = dash == std::string_view::npos
                              ? first
                              : parse_number<unsigned>(trim(part.substr(dash + 1)));
        if (!first || !last || *last < *first || *last >= CpuSet::limit ||
            (named += *last - *first + 1) > CpuSet::limit) {
            return fail(Errc::bad_input, fmt::format("\"{}\" is not a CPU list like 0-15,64-79",
                                                     printable(text)));
        }
        for (unsigned cpu = *first; cpu <= *last; ++cpu) {
            set.add(cpu);
        }
    }
    return set;
}

CpuSet from_mask(std::span<const unsigned long> mask) {
    CpuSet set;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        for (auto rest = mask[i]; rest != 0; rest &= rest - 1) {
            set.add(static_cast<unsigned>(i) * mask_bits +
                    static_cast<unsigned>(std::countr_zero(rest)));
        }
    }
    return set;
}

std::vector<unsigned long> to_mask(const CpuSet& set) {
    std::vector<unsigned long> mask;
    for (const auto cpu : set.cpus()) {
        mask.resize(cpu / mask_bits + 1);
        mask[cpu / mask_bits] |= 1UL << (cpu % mask_bits);
    }
    return mask;
}

std::string to_string(const CpuSet& set) {
    std::string text;
    const auto numbers = set.cpus();
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t j = i;
        while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) {
            ++j;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
        if (j > i) {
            text += fmt::format("-{}", numbers[j]);
        }
        i = j + 1;
    }
    return text;
}

}  // namespace railhead
