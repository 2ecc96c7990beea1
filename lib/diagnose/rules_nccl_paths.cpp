// Rules on the NICs and the connections that NCCL uses.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "diagnose/nccl_line.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/rules_nccl.hpp"

namespace railhead::diagnose {

namespace {

/// The first line about a connection that takes such a path is evidence.
void add_path(Finding& finding, const NcclLog& log, PathClass path) {
    const auto found = std::ranges::find(log.paths, path, &NcclPath::path);
    if (found != log.paths.end()) {
        finding.evidence.push_back(found->first);
    }
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
    add_path(finding, log, PathClass::net);
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
    const bool as_many =
        devices_in(lists[0].second->value).size() == devices_in(lists[1].second->value).size();
    if (as_many && lists.size() == 2) {
        auto finding = found(
            Confidence::possible,
            fmt::format("Nodes use as many NICs of different names: \"{}\" and \"{}\". Where the "
                        "machines are alike, these are different rails.",
                        printable(lists[0].first), printable(lists[1].first)),
            {lists[0].second->first, lists[1].second->first});
        finding.role = Role::advice;  // names may differ from node to node
        finding.fix = {"railhead rails --compare: whether the same GPUs use them"};
        finding.expected = "all rails of all nodes";
        return finding;
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

/// What the ranks of a node have in common.
struct OnHost {
    std::uint64_t ranks = 0, shm = 0, p2p = 0;
    bool all_first = true;  ///< each takes its GPU for device 0
};

std::map<std::uint32_t, OnHost> by_host(const NcclLog& log) {
    std::map<std::uint32_t, OnHost> hosts;
    for (const auto& rank : log.ranks) {
        auto& host = hosts[rank.host];
        ++host.ranks;
        host.shm += rank.connections(PathClass::shm);
        host.p2p += rank.connections(PathClass::p2p);
        host.all_first = host.all_first && rank.device == 0;
    }
    return hosts;
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
    for (const auto& [host, seen] : by_host(log)) {
        if (seen.ranks < 2 || seen.shm == 0 || seen.p2p > 0 || !seen.all_first) {
            continue;
        }
        auto finding =
            found(Confidence::likely,
                  fmt::format("The {} ranks of \"{}\" have device 0 each and talk through the "
                              "host's memory (SHM): each sees one GPU only, so NCCL cannot use "
                              "NVLink.",
                              seen.ranks, printable(log.hosts[host])),
                  {});
        add_path(finding, log, PathClass::shm);
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
    add_path(finding, log, PathClass::shm);
    finding.fix = {"nvidia-smi topo -m; nvidia-smi nvlink -s on the node",
                   "systemctl status nvidia-fabricmanager (HGX and DGX)",
                   "lspci -vvv | grep ACSCtl: ACS off in PCIe switches"};
    finding.expected = "NVLink in place of the host's memory";
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

constexpr std::string_view of_rails[] = {"slow-network", "low-mfu"};
constexpr std::string_view of_isolation[] = {"p2p-off", "no-nvlink", "low-mfu"};

constexpr Rule rules[] = {
    {"gdr-off", "connections without GPUDirect RDMA",
     "each byte goes through the host's memory twice", of_rails, find_no_gdr, true},
    {"rail-mismatch", "nodes with different NICs", "the slowest rail sets the pace", of_rails,
     find_rail_mismatch},
    {"missing-rail", "fewer NICs than the node has", "bandwidth is that of the NICs in use",
     of_rails, find_missing_rail},
    {"mixed-links", "NICs for storage among the rails", "GPU traffic goes into the wrong network",
     of_rails, find_mixed_links},
    {"gpu-isolation", "ranks that see one GPU only", "NVLink is ten times faster than memory",
     of_isolation, find_isolation, true},
    {"p2p-off",
     "GPUs of a node that talk through memory",
     "NVLink is ten times faster than memory",
     {},
     find_p2p_off},
    {"virtual-pci",
     "PCIe links with false speeds",
     "NCCL plans its rings by them",
     {},
     find_virtual_pci},
};

}  // namespace

std::span<const Rule> nccl_path_rules() {
    return rules;
}

}  // namespace railhead::diagnose
