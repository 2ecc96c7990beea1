#include "node/node.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::node {

namespace {

/// A hexadecimal number of at most `digits` digits that fills `text`.
std::optional<std::uint32_t> parse_hex(std::string_view text, std::size_t digits) {
    std::uint32_t value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, 16);
    if (text.empty() || text.size() > digits || error != std::errc{} || end != last) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::string to_string(const PciAddress& address) {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                       address.function);
}

std::string to_string(const std::optional<PciAddress>& address) {
    return address ? to_string(*address) : std::string{};
}

Result<PciAddress> parse_pci_address(std::string_view text) {
    const auto bad = [&] {
        return fail(Errc::bad_input,
                    fmt::format("'{}' is not a PCI address like 0000:17:00.0", printable(text)));
    };
    const auto dot = text.rfind('.');
    const auto parts = split(text.substr(0, dot), ':');
    if (dot == std::string_view::npos || parts.size() < 2 || parts.size() > 3) {
        return bad();
    }
    const auto domain = parts.size() == 3 ? parse_hex(parts[0], 8) : std::uint32_t{0};
    const auto bus = parse_hex(parts[parts.size() - 2], 2);
    const auto device = parse_hex(parts[parts.size() - 1], 2);
    const auto function = parse_hex(text.substr(dot + 1), 1);
    if (!domain || !bus || !device || *device > 31 || !function || *function > 7) {
        return bad();
    }
    return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                      static_cast<std::uint8_t>(*function)};
}

std::string_view to_string(Path path) {
    constexpr std::array<std::string_view, 5> words{"PIX", "PXB", "PHB", "NODE", "SYS"};
    return words.at(static_cast<std::size_t>(path));
}

std::string_view to_string(LinkLayer layer) {
    constexpr std::array<std::string_view, 4> words{"", "InfiniBand", "Ethernet", "other"};
    return words.at(static_cast<std::size_t>(layer));
}

const NumaNode* Node::find_numa(unsigned index) const {
    const auto found = std::ranges::find(numa, index, &NumaNode::index);
    return found == numa.end() ? nullptr : &*found;
}

}  // namespace railhead::node
