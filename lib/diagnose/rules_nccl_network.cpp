// Rules on the network that NCCL chose.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/nccl_line.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/rules_nccl.hpp"

namespace railhead::diagnose {

namespace {

using Values = std::vector<const Saying*>;

const Saying* find_value(const Values& values, std::string_view value) {
    const auto found = std::ranges::find(values, value, &Saying::value);
    return found == values.end() ? nullptr : *found;
}

/// All ranks are on one node, and none has a connection over a network.
bool is_one_node(const NcclLog& log) {
    std::set<std::uint32_t> hosts;
    for (const auto& rank : log.ranks) {
        hosts.insert(rank.host);
    }
    const bool whole = log.world() > 0 && log.ranks.size() >= log.world();
    return whole && hosts.size() == 1 &&
           connections(log, PathClass::net) + connections(log, PathClass::net_gdr) == 0;
}

Finding find_socket(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    const auto networks = log.all_said(NcclTopic::network);
    const auto sockets = log.all_said(NcclTopic::socket_devices);
    const auto* path = path_of(log, "NET/Socket");
    const auto* chosen = find_value(networks, "Socket");
    if (chosen == nullptr && path == nullptr && (sockets.empty() || !networks.empty())) {
        const bool told = !networks.empty() || connections(log, PathClass::net_gdr) > 0 ||
                          !log.all_said(NcclTopic::ib_devices).empty() ||
                          !log.all_said(NcclTopic::other_devices).empty();
        return told ? not_found() : unknown({Input::nccl_devices});
    }
    if (is_one_node(log)) {
        return not_found();
    }
    std::vector<Evidence> evidence;
    std::string interfaces;
    if (chosen != nullptr) {
        evidence.push_back(chosen->first);
    }
    if (!sockets.empty()) {
        evidence.push_back(sockets.front()->first);
        interfaces = fmt::format(" on {}", printable(sockets.front()->value));
    }
    if (evidence.empty()) {
        evidence.push_back(path->first);
    }
    auto finding = found(Confidence::certain,
                         fmt::format("NCCL uses TCP sockets{}: about 10 GB/s a node on 100GbE, "
                                     "without GPUDirect, where RDMA carries a NIC's line.",
                                     interfaces),
                         std::move(evidence));
    finding.role = Role::symptom;
    finding.fix = {
        "the lines before it say why NET/IB or the plugin was not taken: "
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET",
        "railhead health within the container; ls /dev/infiniband",
        "NCCL_NET=IB makes it fail in place of a silent fallback"};
    finding.expected =
        "4 to 5 times the bandwidth as reported of 25 GB/s RoCE; ten times and more "
        "with 8 NICs a node";
    return finding;
}

Finding find_disabled(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto* disabled = variable_of(*facts.nccl, "NCCL_IB_DISABLE");
    const auto* net = variable_of(*facts.nccl, "NCCL_NET");
    const NcclVariable* culprit = nullptr;
    if (disabled != nullptr && trim(disabled->value).starts_with('1')) {
        culprit = disabled;
    } else if (net != nullptr && equals_ignoring_case(trim(net->value), "Socket")) {
        culprit = net;
    }
    if (culprit == nullptr) {
        return not_found();
    }
    auto finding =
        found(Confidence::certain,
              fmt::format("{}={} turns RDMA off.", culprit->name, printable(trim(culprit->value))),
              {culprit->first});
    finding.fix = {
        fmt::format("unset {} (job script, container image, /etc/nccl.conf)", culprit->name)};
    finding.expected = "NET/IB in place of NET/Socket";
    return finding;
}

Finding find_no_device(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto none = facts.nccl->all_said(NcclTopic::no_ib_device);
    if (none.empty()) {
        return not_found();
    }
    auto finding = found(Confidence::certain, "NCCL found no RDMA device.", {none.front()->first});
    finding.role = Role::symptom;
    finding.fix = {"ibv_devinfo within the container and outside it", "railhead health",
                   "NCCL_IB_HCA: does it name NICs of this node?"};
    finding.expected = "NET/IB in place of NET/Socket";
    return finding;
}

/// Of the texts about plugins only these are trouble: versions of an interface that are tried and a
/// plugin that nobody asked for are none.
const Saying* real_trouble(const NcclLog& log) {
    for (const auto* saying : log.all_said(NcclTopic::plugin_trouble)) {
        const std::string_view text = saying->value;
        const bool clash = contains(text, "version `") || contains(text, "undefined symbol") ||
                           contains(text, "GLIBC");
        const bool asked = contains(text, "Could not find:") && !contains(text, "libnccl-net.so.");
        if (clash || asked) {
            return saying;
        }
    }
    return nullptr;
}

Finding find_plugin_trouble(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto* trouble = real_trouble(*facts.nccl);
    if (trouble == nullptr) {
        return not_found();
    }
    const bool clash = !contains(trouble->value, "Could not find:");
    auto finding = found(
        Confidence::likely,
        clash
            ? fmt::format("The plugin of the network cannot be loaded, since two releases of a "
                          "library meet: {}. NCCL goes on with TCP.",
                          printable(trouble->value))
            : fmt::format("The plugin of the network was not found ({}): NCCL goes on with its own "
                          "networks.",
                          printable(trouble->value)),
        {trouble->first});
    finding.fix = {"LD_DEBUG=libs on the plugin: which libibverbs and libfabric it takes",
                   "LD_LIBRARY_PATH with the host's or the image's libraries, not both",
                   "NCCL_NET=<name of the network> makes it fail in place of a silent fallback"};
    finding.expected = "the fabric's network in place of NET/Socket";
    return finding;
}

Finding find_wrong_interface(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    bool told = false;
    for (const auto topic : {NcclTopic::socket_devices, NcclTopic::bootstrap, NcclTopic::oob}) {
        for (const auto* saying : log.all_said(topic)) {
            told = true;
            for (const auto name : split_words(saying->value)) {
                const bool wrong = name == "lo" || name.starts_with("docker") ||
                                   name.starts_with("virbr") || name.starts_with("veth");
                if (!wrong || is_one_node(log)) {
                    continue;
                }
                auto finding =
                    found(Confidence::likely,
                          fmt::format("NCCL takes \"{}\", which no other node can reach, among its "
                                      "interfaces.",
                                      printable(name)),
                          {saying->first});
                finding.fix = {
                    "NCCL_SOCKET_IFNAME=^lo,docker,virbr,veth, or the name of the nodes' "
                    "network (eth0)"};
                finding.expected = "a start";
                return finding;
            }
        }
    }
    return told ? not_found() : unknown({Input::nccl_devices});
}

/// A name that was meant and others that begin with it: "bond0 bond0.2093"; empty where there is
/// none.
std::string taken_by_prefix(std::string_view wanted, const Values& lists, bool is_ib) {
    std::string others;
    bool is_there = false;
    for (const auto* list : lists) {
        for (auto device : is_ib ? devices_in(list->value) : split_words(list->value)) {
            device = device.substr(0, is_ib ? device.find(':') : device.size());
            is_there = is_there || device == wanted;
            if (device != wanted && device.starts_with(wanted) &&
                !contains(others, fmt::format("\"{}\"", printable(device)))) {
                others += fmt::format("{}\"{}\"", others.empty() ? "" : ", ", printable(device));
            }
        }
    }
    return is_there ? others : std::string{};
}

Finding find_prefix(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    for (const auto& [name, topic] :
         {std::pair{std::string_view{"NCCL_SOCKET_IFNAME"}, NcclTopic::socket_devices},
          std::pair{std::string_view{"NCCL_IB_HCA"}, NcclTopic::ib_devices}}) {
        const auto* variable = variable_of(log, name);
        const auto value = variable != nullptr ? trim(variable->value) : std::string_view{};
        if (value.empty() || value.starts_with('=') || value.starts_with('^')) {
            continue;
        }
        for (const auto word : split(value, ',')) {
            const auto others =
                taken_by_prefix(trim(word), log.all_said(topic), topic == NcclTopic::ib_devices);
            if (others.empty()) {
                continue;
            }
            auto finding =
                found(Confidence::certain,
                      fmt::format("{}={} is taken for the begin of a name: NCCL uses {} too.", name,
                                  printable(value), others),
                      {variable->first});
            finding.role = Role::advice;
            finding.fix = {
                fmt::format("{}=={}: with \"=\" names are exact", name, printable(value))};
            finding.expected = "the devices that were meant, and no other";
            return finding;
        }
    }
    return log.all_said(NcclTopic::socket_devices).empty() &&
                   log.all_said(NcclTopic::ib_devices).empty()
               ? unknown({Input::nccl_devices})
               : not_found();
}

Finding find_versions(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto versions = facts.nccl->all_said(NcclTopic::version);
    if (versions.empty()) {
        return unknown({Input::nccl_ranks});
    }
    if (versions.size() < 2) {
        return not_found();
    }
    auto finding = found(Confidence::likely,
                         fmt::format("Ranks have different releases of NCCL: {} and {}.",
                                     printable(versions[0]->value), printable(versions[1]->value)),
                         {versions[0]->first, versions[1]->first});
    finding.fix = {"one container image, one LD_LIBRARY_PATH on all nodes",
                   "srun python -c 'import torch; print(torch.cuda.nccl.version())' | sort | uniq "
                   "-c"};
    finding.expected = "one release";
    return finding;
}

constexpr std::string_view of_socket[] = {"socket-fallback", "no-ib-device"};
constexpr std::string_view of_device[] = {"socket-fallback"};
constexpr std::string_view of_rails[] = {"slow-network", "low-mfu"};
constexpr std::string_view of_interface[] = {"nccl-connect", "collective-timeout",
                                             "socket-fallback"};

constexpr Rule rules[] = {
    {"rdma-disabled", "variables that turn RDMA off", "TCP is ten times slower", of_socket,
     find_disabled},
    {"plugin-trouble", "network plugins that cannot be loaded",
     "without its plugin NCCL takes TCP on clouds' networks", of_socket, find_plugin_trouble},
    {"wrong-interface", "interfaces that no other node can reach", "the job cannot start",
     of_interface, find_wrong_interface},
    {"no-ib-device", "nodes without an RDMA device", "TCP is ten times slower", of_device,
     find_no_device},
    {"socket-fallback", "TCP sockets in place of RDMA", "TCP is ten times slower", of_rails,
     find_socket},
    {"prefix-match",
     "names of devices that take others along",
     "NCCL_SOCKET_IFNAME and NCCL_IB_HCA compare begins of names",
     {},
     find_prefix},
    {"mixed-versions",
     "different releases of NCCL",
     "they hang or fail when their protocols differ",
     {},
     find_versions},
};

}  // namespace

std::span<const Rule> nccl_network_rules() {
    return rules;
}

}  // namespace railhead::diagnose
