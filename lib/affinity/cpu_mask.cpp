#include "affinity/cpu_mask.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::affinity {

namespace {

/// The value of one hexadecimal digit; -1 when it is none.
int digit_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

}  // namespace

Result<CpuSet> parse_cpu_mask(std::string_view text) {
    constexpr unsigned bits = 4;
    auto digits = text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
    if (digits.empty() || digits.size() > CpuSet::limit / bits) {
        return fail(Errc::bad_input, fmt::format("'{}' is not a CPU mask", printable(text)));
    }
    CpuSet set;
    unsigned cpu = 0;
    for (; !digits.empty(); digits.remove_suffix(1), cpu += bits) {
        const int value = digit_value(digits.back());
        if (value < 0) {
            return fail(Errc::bad_input, fmt::format("'{}' is not a CPU mask", printable(text)));
        }
        for (unsigned bit = 0; bit < bits; ++bit) {
            if (((static_cast<unsigned>(value) >> bit) & 1U) != 0) {
                set.add(cpu + bit);
            }
        }
    }
    return set;
}

Result<CpuSet> parse_cpu_masks(std::string_view list) {
    CpuSet all;
    for (const auto part : split(list, ',')) {
        auto mask = parse_cpu_mask(trim(part));
        if (!mask) {
            return mask;
        }
        all |= *mask;
    }
    return all;
}

}  // namespace railhead::affinity
