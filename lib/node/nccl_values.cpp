#include "node/nccl_values.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/text.hpp"

namespace railhead::node {

Position TextPlaces::at(std::ptrdiff_t offset) const {
    const auto size = static_cast<std::ptrdiff_t>(text_.size());
    const auto end = offset < 0 || offset > size ? size : offset;
    const auto before = text_.substr(0, static_cast<std::size_t>(end));
    const auto line_end = before.rfind('\n');
    const auto column =
        line_end == std::string_view::npos ? before.size() : before.size() - line_end - 1;
    return {file_, static_cast<unsigned>(std::ranges::count(before, '\n') + 1),
            static_cast<unsigned>(column + 1)};
}

std::optional<std::uint32_t> parse_nccl_hex(std::string_view text) {
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
    }
    std::uint32_t value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, 16);
    return text.empty() || error != std::errc{} || end != last ? std::nullopt
                                                               : std::optional{value};
}

std::optional<CpuSet> parse_nccl_mask(std::string_view text) {
    constexpr unsigned bits = 32;
    CpuSet cpus;
    const auto groups = split(text, ',');
    if (groups.size() > CpuSet::limit / bits) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto mask = parse_nccl_hex(groups[groups.size() - 1 - i]);
        if (!mask) {
            return std::nullopt;
        }
        for (unsigned bit = 0; bit < bits; ++bit) {
            if ((*mask >> bit & 1U) != 0) {
                cpus.add(static_cast<unsigned>(i) * bits + bit);
            }
        }
    }
    return cpus;
}

std::optional<double> pcie_gbyte_per_s(std::string_view speed, std::string_view width) {
    const auto words = split_words(speed);
    const auto lanes = parse_number<unsigned>(width);
    double rate = 0;
    if (words.size() < 2 || words[1] != "GT/s" || lanes.value_or(0) == 0 ||
        std::from_chars(words[0].data(), words[0].data() + words[0].size(), rate).ec !=
            std::errc{} ||
        !(rate > 0)) {
        return std::nullopt;
    }
    const double code = rate <= 5 ? 8.0 / 10 : rate <= 32 ? 128.0 / 130 : 242.0 / 256;
    constexpr double bits_per_byte = 8;
    return rate * *lanes * code / bits_per_byte;
}

}  // namespace railhead::node
