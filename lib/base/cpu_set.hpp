// A set of logical CPUs, as the kernel numbers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead {

/// A set of logical CPU numbers, 0 to `limit` - 1.  A plain value; grows as needed.
class CpuSet {
   public:
    /// More than any kernel is built for; a list that names more is refused.
    static constexpr unsigned limit = 65536;

    void add(unsigned cpu);  ///< ignored at or above `limit`
    void remove(unsigned cpu);
    [[nodiscard]] bool contains(unsigned cpu) const;
    [[nodiscard]] bool empty() const;
    [[nodiscard]] bool meets(const CpuSet& other) const;  ///< whether a CPU is in both
    [[nodiscard]] unsigned size() const;              ///< how many CPUs are in it
    [[nodiscard]] std::vector<unsigned> cpus() const;  ///< ascending

    CpuSet& operator&=(const CpuSet& other);
    CpuSet& operator|=(const CpuSet& other);
    CpuSet& operator-=(const CpuSet& other);
    friend CpuSet operator&(CpuSet a, const CpuSet& b) { return a &= b; }
    friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
    friend CpuSet operator-(CpuSet a, const CpuSet& b) { return a -= b; }
    bool operator==(const CpuSet& other) const { return words_ == other.words_; }

   private:
    void shrink();  ///< no trailing zero words, so that equal sets compare equal
    std::vector<std::uint64_t> words_;
};

/// Reads the kernel's list form: "0-15,64-79", "" is the empty set.
/// Fails with `bad_input` on anything else, and on more CPUs or higher ones than CpuSet::limit.
[[nodiscard]] Result<CpuSet> parse_cpu_list(std::string_view text);

/// The set of a mask as system calls hand it over, lowest numbers first.
[[nodiscard]] CpuSet from_mask(std::span<const unsigned long> mask);
/// And such a mask of a set, no longer than it must be.
[[nodiscard]] std::vector<unsigned long> to_mask(const CpuSet& set);

/// Writes the kernel's list form.
[[nodiscard]] std::string to_string(const CpuSet& set);

}  // namespace railhead
