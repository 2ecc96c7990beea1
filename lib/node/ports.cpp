#include "node/ports.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "node/sysfs.hpp"

namespace railhead::node {

namespace {

/// "0x1a"
std::optional<unsigned> parse_lid(std::string_view text) {
    if (!text.starts_with("0x")) {
        return std::nullopt;
    }
    unsigned value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + 2, last, value, 16);
    return error == std::errc{} && end == last ? std::optional{value} : std::nullopt;
}

/// What follows the number in "5: LinkUp".
std::string word_of(std::string_view text) {
    const auto colon = text.find(": ");
    return colon == std::string_view::npos ? std::string{} : printable(text.substr(colon + 2));
}

/// Nothing where the kernel has no table of addresses for the port.  Entries that were never used
/// read as zeros, or give an error; one after them may still be set.
std::optional<bool> read_has_address(const std::string& port) {
    constexpr unsigned most = 1024;  // mlx5 has 256
    for (unsigned i = 0; i < most; ++i) {
        const auto gid = read_line(fmt::format("{}/gids/{}", port, i));
        if (!gid) {
            return i == 0 ? std::nullopt : std::optional{false};
        }
        if (is_routable_gid(*gid) &&
            read_line(fmt::format("{}/gid_attrs/types/{}", port, i)) == "RoCE v2") {
            return true;
        }
    }
    return false;
}

/// "32.0 GT/s PCIe" and "16".
std::optional<PcieLink> read_pcie_link(const std::string& device) {
    const auto speed = read_line(device + "/current_link_speed");
    const auto width = read_line(device + "/current_link_width");
    if (!speed || !width) {
        return std::nullopt;
    }
    PcieLink link;
    const auto words = split_words(*speed);
    const auto lanes = parse_number<unsigned>(*width);
    if (words.size() < 2 || words[1] != "GT/s" || !lanes || *lanes == 0 || *lanes > 32) {
        return std::nullopt;  // a function without a link of its own: "Unknown", 0 or 63 lanes
    }
    const auto* const last = words[0].data() + words[0].size();
    const auto [end, error] = std::from_chars(words[0].data(), last, link.gt_per_s);
    link.lanes = *lanes;
    return error == std::errc{} && end == last ? std::optional{link} : std::nullopt;
}

}  // namespace

PortState parse_port_state(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, PortState>, 5> states{{
        {"1:", PortState::down},
        {"2:", PortState::initializing},
        {"3:", PortState::armed},
        {"4:", PortState::active},
        {"5:", PortState::active},  // ACTIVE_DEFER: it still works while its link recovers
    }};
    const auto* const found = std::ranges::find_if(
        states, [text](const auto& state) { return text.starts_with(state.first); });
    return found == states.end() ? PortState::unknown : found->second;
}

bool is_routable_gid(std::string_view text) {
    return !text.starts_with("fe80:") && text.find_first_not_of("0:") != std::string_view::npos;
}

Port read_port(const std::string& root, const std::string& nic, unsigned number) {
    const auto device = fmt::format("{}/sys/class/infiniband/{}", root, nic);
    const auto folder = fmt::format("{}/ports/{}", device, number);
    Port port;
    const auto state = read_line(folder + "/state");
    if (!state) {
        return port;
    }
    port.present = true;
    port.state = parse_port_state(*state);
    port.link_layer = parse_link_layer(read_line(folder + "/link_layer").value_or(""));
    if (port.state != PortState::active) {
        port.link = word_of(read_line(folder + "/phys_state").value_or(""));
        port.lid = parse_lid(read_line(folder + "/lid").value_or(""));
    } else {
        port.gbit_per_s = parse_port_rate(read_line(folder + "/rate").value_or(""));
        if (port.link_layer == LinkLayer::ethernet) {
            port.has_address = read_has_address(folder);
        }
    }
    port.pcie = read_pcie_link(device + "/device");
    return port;
}

}  // namespace railhead::node
