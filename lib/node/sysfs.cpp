#include "node/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "node/from_nccl_xml.hpp"
#include "node/limits.hpp"

namespace railhead::node {

namespace {

constexpr std::size_t small_file = std::size_t{16} << 10U;  // sysfs gives a page at most

bool is_active(std::string_view state) {  // "4: ACTIVE"
    return state.starts_with("4");
}

/// The first active port of a NIC whose own is down; one of another is told nothing by that one.
void change_port(Nic& nic, const std::string& ports) {
    for (unsigned port = 1;; ++port) {
        const auto state = read_line(fmt::format("{}/{}/state", ports, port));
        if (!state) {
            return;
        }
        if (is_active(*state)) {
            nic.port = port;
            nic.active = true;
            nic.gbit_per_s.reset();
            nic.link_layer = LinkLayer::unknown;
            return;
        }
    }
}

void add_port(Nic& nic, const std::string& root) {
    const auto ports = fmt::format("{}/sys/class/infiniband/{}/ports", root, nic.name);
    if (const auto state = read_line(fmt::format("{}/{}/state", ports, nic.port))) {
        nic.active = is_active(*state);
        if (!nic.active) {
            change_port(nic, ports);
        }
    }
    // A port that is down shows the slowest rate there is, not its own.
    if (nic.active && !nic.gbit_per_s) {
        if (const auto rate = read_line(fmt::format("{}/{}/rate", ports, nic.port))) {
            nic.gbit_per_s = parse_port_rate(*rate);
        }
    }
    if (nic.link_layer == LinkLayer::unknown) {
        if (const auto layer = read_line(fmt::format("{}/{}/link_layer", ports, nic.port))) {
            nic.link_layer = parse_link_layer(*layer);
        }
    }
}

/// The last name in what a symbolic link points to; "" when it is none.
std::string link_target(const std::string& path) {
    std::error_code error;
    return std::filesystem::read_symlink(path, error).filename().string();
}

/// "…/device/physfn" of an SR-IOV function leads to the card's own function, where the kernel that
/// we run under has that one: a virtual machine has not.
void add_card(Node& node, Nic& nic, const std::string& root) {
    const auto card = parse_pci_address(
        link_target(fmt::format("{}/sys/class/infiniband/{}/device/physfn", root, nic.name)));
    nic.virtual_function =
        nic.virtual_function ||
        (card && std::ranges::any_of(node.nics, [&](const Nic& own) { return own.pci == *card; }));
}

void add_bond(Nic& nic, const std::string& root) {
    for (const auto& netdev : nic.netdevs) {
        const auto master = link_target(fmt::format("{}/sys/class/net/{}/master", root, netdev));
        std::error_code error;
        if (nic.bond.empty() && is_device_name(master) &&  // a bridge is a master too
            std::filesystem::exists(fmt::format("{}/sys/class/net/{}/bonding", root, master),
                                    error)) {
            nic.bond = master;
        }
    }
}

/// The devices of a class below /sys/class, by the PCI function that they are on.
std::multimap<PciAddress, std::string> devices_of(const std::string& folder) {
    std::multimap<PciAddress, std::string> found;
    std::error_code error;
    std::filesystem::directory_iterator devices{folder, error};
    for (; !error && devices != std::filesystem::directory_iterator{}; devices.increment(error)) {
        const auto address = parse_pci_address(link_target(devices->path().string() + "/device"));
        const auto name = devices->path().filename().string();
        if (address && is_device_name(name)) {
            found.emplace(*address, name);
        }
    }
    return found;
}

/// hwloc knows a Slingshot NIC by its network interface only; its own name is that in class cxi.
void add_cxi_names(Node& node, const std::string& root) {
    for (const auto& [address, name] : devices_of(root + "/sys/class/cxi")) {
        const auto nic = std::ranges::find(node.nics, address, &Nic::pci);
        if (nic != node.nics.end()) {
            nic->name = name;
        }
    }
}

/// NICs that the source leaves without a name get that of the RDMA device on their PCI function.
/// All of them or none: a list of some would leave rails out.
void add_rdma_names(Node& node, const std::string& root) {
    if (node.incomplete != nics_unnamed) {
        return;
    }
    const auto devices = devices_of(root + "/sys/class/infiniband");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
        const auto& nic = node.nics[i];
        const bool named = nic.name != unnamed_nic(i);
        if (!named && (!nic.pci || devices.count(*nic.pci) != 1)) {
            return;
        }
        names.push_back(named ? nic.name : devices.find(*nic.pci)->second);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        node.nics[i].name = std::move(names[i]);
    }
    node.incomplete.clear();
}

/// Whether the driver has nothing to add.
bool is_known(const Gpu& gpu) {
    return !gpu.uuid.empty() && gpu.minor && gpu.model.find(':') == std::string::npos;
}

/// One "Key: \t value" line of the driver's information file.
void add_information(Gpu& gpu, std::string_view line) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
        return;
    }
    const auto key = trim(line.substr(0, colon));
    const auto value = trim(line.substr(colon + 1));
    if (key == "GPU UUID" && gpu.uuid.empty() && value.starts_with("GPU-") &&
        value.find('?') == std::string_view::npos) {  // "GPU-????????-…" until the driver is used
        gpu.uuid = value;
    } else if (key == "Device Minor" && !gpu.minor) {
        gpu.minor = parse_number<unsigned>(value);
    } else if (key == "Model" &&
               gpu.model.find(':') != std::string::npos) {  // only a PCI id so far
        gpu.model = printable(value);
    }
}

}  // namespace

std::optional<std::string> read_line(const std::string& path) {
    auto text = read_file(path, small_file);
    if (!text) {
        return std::nullopt;
    }
    return std::string{trim(*text)};
}

std::optional<double> parse_port_rate(std::string_view text) {
    const auto words = split_words(text);
    double value = 0;
    if (words.size() < 2 || words[1] != "Gb/sec") {
        return std::nullopt;
    }
    const auto* const last = words[0].data() + words[0].size();
    const auto [end, error] = std::from_chars(words[0].data(), last, value);
    if (error != std::errc{} || end != last || !(value > 0)) {
        return std::nullopt;
    }
    return value;
}

LinkLayer parse_link_layer(std::string_view text) {
    if (text == "InfiniBand") {
        return LinkLayer::infiniband;
    }
    if (text == "Ethernet") {
        return LinkLayer::ethernet;
    }
    return text.empty() ? LinkLayer::unknown : LinkLayer::other;
}

void add_sysfs(Node& node, const std::string& root) {
    add_cxi_names(node, root);
    add_rdma_names(node, root);
    for (auto& nic : node.nics) {
        add_port(nic, root);
        add_card(node, nic, root);
        add_bond(nic, root);
    }
    for (auto& gpu : node.gpus) {
        if (gpu.vendor != "nvidia" || !gpu.pci || is_known(gpu)) {
            continue;
        }
        const auto path =
            fmt::format("{}/proc/driver/nvidia/gpus/{}/information", root, to_string(gpu.pci));
        const auto text = read_file(path, small_file);
        for (const auto line : split(text ? std::string_view{*text} : std::string_view{}, '\n')) {
            add_information(gpu, line);
        }
    }
}

}  // namespace railhead::node
