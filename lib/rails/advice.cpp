#include "rails/advice.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace railhead::rails {

namespace {

using Names = std::vector<std::string>;

/// "mlx5_1, mlx5_10, mlx5_11 and 8 more"
std::string shown(const Names& names) {
    constexpr std::size_t most = 4;
    if (names.size() <= most) {
        return fmt::format("{}", fmt::join(names, ", "));
    }
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + most - 1, ", "),
                       names.size() - most + 1);
}

/// A value as NCCL reads it: "^" leaves out, "=" matches whole names, else their beginnings.
struct NameList {
    bool leaves_out = false, exact = false;
    std::vector<std::string_view> names;  ///< without ports
};

NameList parse_name_list(std::string_view value) {
    NameList list;
    if (value.starts_with('^')) {
        list.leaves_out = true;
        value.remove_prefix(1);
    }
    if (value.starts_with('=')) {
        list.exact = true;
        value.remove_prefix(1);
    }
    for (const auto part : split(value, ',')) {
        if (!part.empty()) {
            list.names.push_back(part.substr(0, part.find(':')));
        }
    }
    return list;
}

/// What NCCL_IB_HCA and NCCL_SOCKET_IFNAME have in common; `kind` is "device" or "interface".
Names advise_on_names(std::string_view variable, std::string_view value, const Names& present,
                      std::string_view kind) {
    Names advice;
    const auto list = parse_name_list(value);
    for (const auto name : list.names) {
        Names matched;
        std::ranges::copy_if(present, std::back_inserter(matched), [&](const std::string& one) {
            return list.exact ? one == name : one.starts_with(name);
        });
        if (matched.empty() && !present.empty()) {
            advice.push_back(fmt::format("no {} here is named \"{}\"", kind, printable(name)));
        } else if (matched.size() > 1) {
            advice.push_back(fmt::format(
                "\"{}\" {} {}: {}; NCCL compares beginnings, {}={}={} means whole names",
                printable(name), list.leaves_out ? "leaves out" : "matches",
                count_of(matched.size(), kind), printable(shown(matched)), variable,
                list.leaves_out ? "^" : "", fmt::join(list.names, ",")));
        }
    }
    return advice;
}

Names advise_on_gloo(std::string_view value, const Names& present) {
    Names advice;
    if (value.find_first_of("^=") != std::string_view::npos) {
        advice.emplace_back("Gloo knows neither \"^\" nor \"=\": write whole names, bond0,eth1");
        return advice;
    }
    for (const auto name : split(value, ',')) {
        if (!present.empty() && std::ranges::find(present, name) == present.end()) {
            advice.push_back(fmt::format("no interface here is named \"{}\"", printable(name)));
        }
    }
    return advice;
}

/// "all", "^name", ranges and network interfaces are UCX's own: only what is plainly an RDMA
/// device, and absent, is told.
Names advise_on_ucx(std::string_view value, const Surroundings& surroundings) {
    Names advice;
    for (const auto part : split(value, ',')) {
        const auto name = part.substr(0, part.find(':'));
        const bool is_device =
            name.size() < part.size() && name.find_first_of("^[*") == std::string_view::npos;
        if (is_device && !surroundings.devices.empty() &&
            std::ranges::find(surroundings.devices, name) == surroundings.devices.end()) {
            advice.push_back(fmt::format("no device here is named \"{}\": UCX warns, or fails",
                                         printable(name)));
        }
    }
    return advice;
}

}  // namespace

std::vector<std::string> advise(std::string_view variable, std::string_view value,
                                const Surroundings& surroundings) {
    if (variable == "NCCL_IB_HCA") {
        return advise_on_names(variable, value, surroundings.devices, "device");
    }
    if (variable == "NCCL_SOCKET_IFNAME") {
        return advise_on_names(variable, value, surroundings.interfaces.names, "interface");
    }
    if (variable == "GLOO_SOCKET_IFNAME") {
        return advise_on_gloo(value, surroundings.interfaces.names);
    }
    if (variable == "UCX_NET_DEVICES") {
        return advise_on_ucx(value, surroundings);
    }
    return {};
}

std::vector<std::string> advise_on_order(std::string_view variable, std::string_view value) {
    const auto list = parse_name_list(value);
    if (variable != "NCCL_IB_HCA" || list.leaves_out || list.names.size() < 2) {
        return {};
    }
    return {
        "the order of this list maps no GPU to a NIC: NCCL goes by the distance on PCI, as "
        "`railhead rails` shows it"};
}

std::vector<std::string> advise_on_routes(const std::vector<node::Route>& routes) {
    Names advice;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            const auto& [first, network, metric] = routes[k];
            const auto& other = routes[i];
            if (other.network == network && other.metric == metric && other.interface != first) {
                advice.push_back(fmt::format(
                    "{} and {} are both in {} with metric {}: the kernel sends by either of them, "
                    "whatever interface is named; give each a network of its own, or the one that "
                    "is not to be used a larger metric",
                    printable(first), printable(other.interface), network, metric));
            }
        }
    }
    return advice;
}

}  // namespace railhead::rails
