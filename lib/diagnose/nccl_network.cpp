// What NCCL says of networks: devices, plugins, GPUDirect RDMA, and the topology it found.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "diagnose/nccl_records.hpp"

namespace railhead::diagnose {
namespace {

/// The address that `text` begins with, "10.1.2.3<0>", is for nobody's eyes: what is before ":".
std::string_view interface_of(std::string_view text) {
    return text.substr(0, text.find(':'));
}

/// "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.2.3<0>", of a network of this name.
bool take_devices(NcclBook& book, std::uint32_t rank, std::string_view name, std::string_view text,
                  bool is_last_try) {
    const bool has_ports = contains(text, "/IB") || contains(text, "/RoCE");
    const auto oob = text.find("; OOB ");
    if (has_ports && oob == std::string_view::npos && !is_last_try) {
        return false;
    }
    if (oob != std::string_view::npos) {
        book.say(rank, NcclTopic::oob, interface_of(text.substr(oob + 6)));
    }
    if (has_ports) {
        book.say(rank, NcclTopic::ib_devices, trim(text.substr(0, oob)));
    } else if (name == "Socket" || name.empty()) {
        book.say(rank, NcclTopic::socket_devices, interface_names(text));
    } else {
        book.say(rank, NcclTopic::other_devices, std::string{name} + ": " + interface_names(text));
    }
    return true;
}

/// What stands behind `key`; nothing where it does not begin `text`.
std::optional<std::string_view> behind(std::string_view text, std::string_view key) {
    return take(text, key) ? std::optional{text} : std::nullopt;
}

/// Texts behind "NET/Plugin".
bool take_plugin(NcclBook& book, std::uint32_t rank, std::string_view text, bool is_last_try) {
    if (contains(text, "not found (required by") && !contains(text, ")") && !is_last_try) {
        return false;
    }
    if (const auto net = behind(text, "Loaded net plugin ")) {
        book.say(rank, NcclTopic::plugin, *net);
    } else if (const auto coll = behind(text, "Loaded coll plugin ")) {
        book.say(rank, NcclTopic::coll_plugin, *coll);
    } else if (const auto collnet = behind(text, "Loaded collnet plugin ")) {
        book.say(rank, NcclTopic::coll_plugin, *collnet);
    } else if (!text.starts_with("Using ") && !text.starts_with("NCCL_NET_PLUGIN set")) {
        book.say(rank, NcclTopic::plugin_trouble, text);
    }
    return true;
}

void take_libfabric(NcclBook& book, std::uint32_t rank, std::string_view text) {
    if (const auto release = behind(text, "Initializing ")) {
        book.say(rank, NcclTopic::plugin, *release);
    } else if (contains(text, "rovider is ") || contains(text, "rovider")) {
        book.say(rank, NcclTopic::provider, text);
    }
}

}  // namespace

std::string interface_names(std::string_view text) {
    std::string names;
    while (!text.empty()) {
        auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (word.starts_with('[')) {
            word.remove_prefix(std::min(word.size(), word.find(']') + 1));
        }
        if (const auto colon = word.find(':'); colon != std::string_view::npos && colon > 0) {
            names += names.empty() ? "" : " ";
            names += word.substr(0, colon);
        }
    }
    return names;
}

bool take_network(NcclBook& book, std::uint32_t rank, std::string_view text, bool is_last_try) {
    std::string_view name;
    if (take(text, "/")) {
        name = text.substr(0, text.find_first_of(" :"));
        text.remove_prefix(name.size());
    }
    while (text.starts_with(' ') || text.starts_with(':')) {
        text.remove_prefix(1);
    }
    if (name == "Plugin") {
        return take_plugin(book, rank, text, is_last_try);
    }
    if (const auto devices = behind(text, "Using ")) {
        if (devices->starts_with('[')) {
            return take_devices(book, rank, name, *devices, is_last_try);
        }
        if (const auto interface = behind(*devices, "interface ")) {  // 2.3
            book.say(rank, NcclTopic::socket_devices, interface_of(*interface));
            return true;
        }
    }
    if (text.starts_with("No device found")) {
        book.say(rank, NcclTopic::no_ib_device, text);
    } else if (text.starts_with("GPU Direct RDMA ")) {
        take_gdr(book, text);
    } else if (name == "OFI") {
        take_libfabric(book, rank, text);
    } else if (const auto release = behind(text, "Initializing ")) {
        book.say(rank, NcclTopic::plugin, *release);
    }
    return true;
}

void take_gdr(NcclBook& book, std::string_view text) {
    GdrChoice choice;
    take(text, "GPU Direct RDMA ");
    choice.enabled = text.starts_with("Enabled") || text.starts_with("enabled");
    if (!choice.enabled && !text.starts_with("Disabled") && !text.starts_with("disabled")) {
        return;
    }
    if (const auto hca = text.find("HCA "); hca != std::string_view::npos) {
        choice.hca = text.substr(hca + 4, text.find('(') - hca - 4);
        choice.hca = std::string{trim(choice.hca)};
    }
    if (const auto at = text.find("(distance "); at != std::string_view::npos) {
        auto rest = text.substr(at + 10);
        const auto number = [&]() -> std::optional<int> {
            const auto digits = take_digits(rest);
            return digits && *digits < 1000 ? std::optional{static_cast<int>(*digits)}
                                            : std::nullopt;
        };
        choice.distance = number();
        rest.remove_prefix(std::min(rest.size(), rest.find_first_of("0123456789")));
        choice.limit = number();
    }
    if (!book.is_cut) {
        book.add_gdr(std::move(choice));
    }
}

void take_graph(NcclBook& book, std::uint32_t rank, std::string_view text) {
    if (!take(text, "+ ")) {
        book.begin_switch(rank, {});
        return;
    }
    const auto open = text.find('[');
    const auto close = text.find("] - ");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return;
    }
    const auto gb_s = real_at(text.substr(open + 1, close - open - 1));
    if (!gb_s || book.is_cut) {
        return;
    }
    const auto type = text.substr(0, open);
    book.add_graph_link(type, *gb_s);
    const auto to = text.substr(close + 4);
    const auto slash = to.find('/');
    if (slash == std::string_view::npos) {
        return;
    }
    const auto device = to.substr(0, slash);
    const auto id = to.substr(slash + 1, to.find(' ') - slash - 1);
    if (device == "PCI") {
        book.begin_switch(rank, id);
    } else if (device == "GPU" || device == "NIC") {
        book.add_to_switch(rank, device == "GPU", id);
    } else if (type == "SYS") {
        book.begin_switch(rank, {});
    }
}

}  // namespace railhead::diagnose
