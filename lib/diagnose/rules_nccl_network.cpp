// Rules on the network and the connections that NCCL chose.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/nccl_line.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

using Values = std::vector<const Saying*>;

/// "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]" as "mlx5_0:1/IB", "mlx5_1:1/RoCE".
std::vector<std::string_view> devices_in(std::string_view list) {
    std::vector<std::string_view> devices;
    for (auto word : split_words(list)) {
        const auto close = word.find(']');
        if (!word.starts_with('[') || close == std::string_view::npos || close + 1 == word.size()) {
            continue;  // "[RO]"
        }
        devices.push_back(word.substr(close + 1));
    }
    return devices;
}

const Saying* find_value(const Values& values, std::string_view value) {
    const auto found = std::ranges::find(values, value, &Saying::value);
    return found == values.end() ? nullptr : *found;
}

std::uint64_t connections(const NcclLog& log, PathClass path) {
    std::uint64_t count = 0;
    for (const auto& rank : log.ranks) {
        count += rank.connections(path);
    }
    return count;
}

const NcclPath* path_of(const NcclLog& log, std::string_view kind) {
    const auto found = std::ranges::find_if(
        log.paths, [&](const NcclPath& path) { return path.kind.starts_with(kind); });
    return found == log.paths.end() ? nullptr : &*found;
}

const NcclVariable* variable_of(const NcclLog& log, std::string_view name) {
    const auto found = std::ranges::find(log.variables, name, &NcclVariable::name);
    return found == log.variables.end() ? nullptr : &*found;
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

/// GPUDirect RDMA is NCCL's for NICs of NVIDIA, AWS and the like; Omni-Path and irdma have none
/// here.
bool may_have_gdr(const NcclLog& log) {
    const auto lists = log.all_said(NcclTopic::ib_devices);
    return std::ranges::none_of(lists, [](const Saying* saying) {
        return contains(saying->value, "hfi1") || contains(saying->value, "irdma");
    });
}

Finding find_no_gdr(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    const auto refused = std::ranges::find(log.gdr, false, &GdrChoice::enabled);
    const auto with = connections(log, PathClass::net_gdr);
    const auto without = connections(log, PathClass::net);
    const auto* path = path_of(log, "NET/Socket");
    if (path != nullptr || !may_have_gdr(log)) {
        return not_found();  // TCP is another finding, and other NICs have none
    }
    if (with > 0 && refused == log.gdr.end()) {
        return not_found();
    }
    if (without == 0 && refused == log.gdr.end()) {
        return unknown({Input::nccl_paths});
    }
    if (with > 0) {
        return not_found();  // what was refused for one NIC another one does
    }
    auto finding = found(Confidence::likely,
                         "Connections go through the host's memory (NET, not "
                         "NET/.../GDRDMA): GPUDirect RDMA is off.",
                         {});
    if (refused != log.gdr.end()) {
        finding.evidence.push_back(refused->first);
        if (refused->distance && refused->limit) {
            finding.what += fmt::format(
                " GPU and NIC are {} steps apart, more than the {} that are "
                "allowed.",
                *refused->distance, *refused->limit);
            finding.fix.emplace_back("NCCL_NET_GDR_LEVEL=PHB (or SYS): see nvidia-smi topo -m");
        }
    }
    for (const auto& one : log.paths) {
        if (one.path == PathClass::net) {
            finding.evidence.push_back(one.first);
            break;
        }
    }
    finding.fix.emplace_back("lsmod | grep nvidia_peermem; modprobe nvidia-peermem on each node");
    finding.fix.emplace_back("or dma-buf: the open kernel modules and Linux 5.12 or later");
    finding.expected = "33 GB/s became 93 GB/s on two A100 nodes (NVIDIA/nccl #1412)";
    return finding;
}

Finding find_mixed_links(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto lists = facts.nccl->all_said(NcclTopic::ib_devices);
    if (lists.empty()) {
        return unknown({Input::nccl_devices});
    }
    for (const auto* list : lists) {
        const auto devices = devices_in(list->value);
        const auto is_roce = [](std::string_view one) { return contains(one, "/RoCE"); };
        const auto roce = std::ranges::count_if(devices, is_roce);
        const auto count = static_cast<std::ptrdiff_t>(devices.size());
        if (roce == 0 || roce == count) {
            continue;
        }
        const bool odd_is_roce = roce * 2 <= count;
        const auto odd =
            std::ranges::find_if(devices, [&](auto one) { return is_roce(one) == odd_is_roce; });
        const auto name = odd->substr(0, odd->find(':'));
        auto finding =
            found(Confidence::likely,
                  fmt::format("\"{}\" is among the NICs for GPU traffic and has another link layer "
                              "than the others: a NIC for storage or management.",
                              printable(name)),
                  {list->first});
        finding.fix = {fmt::format("NCCL_IB_HCA=^{}, or an exact list of the rails "
                                   "(NCCL_IB_HCA==mlx5_0,mlx5_1,...)",
                                   printable(name)),
                       "railhead rails prints the list; the plugin sets it"};
        finding.expected = "traffic on the rails alone";
        return finding;
    }
    return not_found();
}

std::string normal_list(std::string_view list) {
    const auto devices = devices_in(list);
    const std::set<std::string_view> sorted{devices.begin(), devices.end()};
    return fmt::format("{}", fmt::join(sorted, " "));
}

Finding find_rail_mismatch(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    std::vector<std::pair<std::string, const Saying*>> lists;  // that differ
    std::set<std::uint32_t> hosts;
    for (const auto& rank : log.ranks) {
        const auto* said = log.said(rank, NcclTopic::ib_devices);
        if (said == nullptr || log.hosts[rank.host].empty()) {
            continue;
        }
        hosts.insert(rank.host);
        auto list = normal_list(said->value);
        if (std::ranges::find(lists, list, &std::pair<std::string, const Saying*>::first) ==
            lists.end()) {
            lists.emplace_back(std::move(list), said);
        }
    }
    if (hosts.size() < 2) {
        return unknown({Input::nccl_devices});
    }
    if (lists.size() < 2) {
        return not_found();
    }
    auto finding = found(Confidence::certain,
                         fmt::format("Nodes use different NICs: \"{}\" and \"{}\". Rails that only "
                                     "one side has are lost, or the job hangs.",
                                     printable(lists[0].first), printable(lists[1].first)),
                         {lists[0].second->first, lists[1].second->first});
    finding.fix = {"railhead rails --compare: which node lacks a NIC",
                   "railhead health on that node; drain it until its NIC is back",
                   "one exact list in NCCL_IB_HCA on all nodes"};
    finding.expected = "all rails of all nodes";
    return finding;
}

Finding find_missing_rail(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto lists = facts.nccl->all_said(NcclTopic::ib_devices);
    if (lists.empty()) {
        return unknown({Input::nccl_devices});
    }
    const auto& hardware = facts.hardware;
    if (hardware.nics_per_node == 0 && hardware.nic == nullptr) {
        return unknown({Input::network});
    }
    const std::uint64_t wanted =
        hardware.nics_per_node != 0 ? hardware.nics_per_node : hardware.nic->per_node;
    for (const auto* list : lists) {
        const auto count = devices_in(list->value).size();
        if (count >= wanted) {
            continue;
        }
        auto finding = found(
            Confidence::certain,
            fmt::format("NCCL uses {} of {} NICs: {}.", count, wanted, printable(list->value)),
            {list->first});
        finding.fix = {"ibv_devinfo: are all ports ACTIVE?  railhead health",
                       "NCCL_IB_HCA: without \"=\" a name is a prefix; with it the list is exact",
                       "railhead rails prints the list; the plugin sets it"};
        finding.expected = fmt::format("{} / {} of the bandwidth", wanted, count);
        return finding;
    }
    return not_found();
}

/// Ranks of one node that all think they have GPU 0, and talk through memory.
Finding find_isolation(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    if (connections(log, PathClass::shm) + connections(log, PathClass::p2p) == 0) {
        return unknown({Input::nccl_paths});
    }
    for (std::uint32_t host = 0; host < log.hosts.size(); ++host) {
        std::uint64_t ranks = 0;
        std::uint64_t shm = 0;
        std::uint64_t p2p = 0;
        bool all_first = true;
        for (const auto& rank : log.ranks) {
            if (rank.host == host) {
                ++ranks;
                shm += rank.connections(PathClass::shm);
                p2p += rank.connections(PathClass::p2p);
                all_first = all_first && rank.device == 0;
            }
        }
        if (ranks < 2 || shm == 0 || p2p > 0 || !all_first) {
            continue;
        }
        auto finding =
            found(Confidence::likely,
                  fmt::format("The {} ranks of \"{}\" have device 0 each and talk through the "
                              "host's memory (SHM): each sees one GPU only, so NCCL cannot use "
                              "NVLink.",
                              ranks, printable(log.hosts[host])),
                  {});
        const auto* path = path_of(log, "SHM");
        const auto direct = std::ranges::find(log.paths, PathClass::shm, &NcclPath::path);
        if (path != nullptr) {
            finding.evidence.push_back(path->first);
        } else if (direct != log.paths.end()) {
            finding.evidence.push_back(direct->first);
        }
        finding.fix = {
            "--gpus-per-node=N --gpu-bind=none in place of --gpus-per-task or "
            "--gpu-bind=single: every rank must see all GPUs of its node",
            "in containers: all GPUs in each, or one container a node",
            "torch.cuda.set_device(local rank) picks the GPU"};
        finding.expected = "NVLink in place of the host's memory: ten times the bandwidth";
        return finding;
    }
    return not_found();
}

Finding find_p2p_off(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& log = *facts.nccl;
    const auto* variable = variable_of(log, "NCCL_P2P_DISABLE");
    if (variable != nullptr && trim(variable->value).starts_with('1')) {
        auto finding = found(Confidence::certain, "NCCL_P2P_DISABLE=1 keeps GPUs from NVLink.",
                             {variable->first});
        finding.fix = {"unset NCCL_P2P_DISABLE"};
        finding.expected = "NVLink in place of the host's memory";
        return finding;
    }
    const auto shm = connections(log, PathClass::shm);
    const auto p2p = connections(log, PathClass::p2p);
    if (shm + p2p == 0) {
        return unknown({Input::nccl_paths});
    }
    if (p2p > 0 || shm == 0) {
        return not_found();
    }
    if (facts.hardware.accelerator == nullptr) {
        return unknown({Input::accelerator});
    }
    const auto& gpu = *facts.hardware.accelerator;
    if (gpu.scale_up_bytes_per_s.value_or(0) <= gpu.pcie_bytes_per_s.value_or(0)) {
        return not_found();
    }
    auto finding =
        found(Confidence::likely,
              fmt::format("All {} connections within nodes go through the host's memory, "
                          "though {} has NVLink.",
                          shm, gpu.name),
              {});
    const auto direct = std::ranges::find(log.paths, PathClass::shm, &NcclPath::path);
    if (direct != log.paths.end()) {
        finding.evidence.push_back(direct->first);
    }
    finding.fix = {"nvidia-smi topo -m; nvidia-smi nvlink -s on the node",
                   "systemctl status nvidia-fabricmanager (HGX and DGX)",
                   "lspci -vvv | grep ACSCtl: ACS off in PCIe switches"};
    finding.expected = "NVLink in place of the host's memory";
    return finding;
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

/// PCIe links of a machine have 4 GB/s and more: less is a speed that a VM makes up.
Finding find_virtual_pci(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto& links = facts.nccl->graph_links;
    if (links.empty()) {
        return unknown({Input::nccl_graph});
    }
    constexpr double least_gb_s = 1;
    const auto slow = std::ranges::find_if(
        links, [](const GraphLink& link) { return link.type == "PCI" && link.gb_s < least_gb_s; });
    if (slow == links.end()) {
        return not_found();
    }
    auto finding = found(
        Confidence::likely,
        fmt::format("NCCL takes a PCIe link for {:.1f} GB/s: the virtual machine tells a false "
                    "speed of its emulated switch, and NCCL plans by it.",
                    slow->gb_s),
        {slow->first});
    finding.role = Role::advice;
    finding.fix = {"NCCL_TOPO_FILE with the machine's topology (Azure, AWS and OCI ship one)",
                   "nvidia-smi topo -m on the node: which NIC is near which GPU"};
    finding.expected = "rings that use the near NIC of each GPU";
    return finding;
}

constexpr std::string_view of_socket[] = {"socket-fallback", "no-ib-device"};
constexpr std::string_view of_rails[] = {"slow-network", "low-mfu"};
constexpr std::string_view of_interface[] = {"nccl-connect", "collective-timeout",
                                             "socket-fallback"};
constexpr std::string_view of_isolation[] = {"p2p-off", "no-nvlink", "low-mfu"};

constexpr Rule rules[] = {
    {"rdma-disabled", "variables that turn RDMA off", "TCP is ten times slower", of_socket,
     find_disabled},
    {"plugin-trouble", "network plugins that cannot be loaded",
     "without its plugin NCCL takes TCP on clouds' networks", of_socket, find_plugin_trouble},
    {"wrong-interface", "interfaces that no other node can reach", "the job cannot start",
     of_interface, find_wrong_interface},
    {"no-ib-device", "nodes without an RDMA device", "TCP is ten times slower", of_socket,
     find_no_device},
    {"socket-fallback", "TCP sockets in place of RDMA", "TCP is ten times slower", of_rails,
     find_socket},
    {"gdr-off", "connections without GPUDirect RDMA",
     "each byte goes through the host's memory twice", of_rails, find_no_gdr},
    {"rail-mismatch", "nodes with different NICs", "the slowest rail sets the pace", of_rails,
     find_rail_mismatch},
    {"missing-rail", "fewer NICs than the node has", "bandwidth is that of the NICs in use",
     of_rails, find_missing_rail},
    {"mixed-links", "NICs for storage among the rails", "GPU traffic goes into the wrong network",
     of_rails, find_mixed_links},
    {"gpu-isolation", "ranks that see one GPU only", "NVLink is ten times faster than memory",
     of_isolation, find_isolation},
    {"p2p-off",
     "GPUs of a node that talk through memory",
     "NVLink is ten times faster than memory",
     {},
     find_p2p_off},
    {"mixed-versions",
     "different releases of NCCL",
     "they hang or fail when their protocols differ",
     {},
     find_versions},
    {"virtual-pci",
     "PCIe links with false speeds",
     "NCCL plans its rings by them",
     {},
     find_virtual_pci},
};

}  // namespace

std::span<const Rule> nccl_network_rules() {
    return rules;
}

}  // namespace railhead::diagnose
