// Rules on the warnings of NCCL and on collectives that did not end.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/nccl_line.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

/// Of a line that the end of the file cuts off, what it warns of is not known.
const NcclWarning* first_of(const NcclLog& log, WarningKind kind) {
    for (const auto& warning : log.warnings) {
        const bool is_cut = log.cut && warning.lines == 1 && warning.first.line >= log.lines;
        if (warning.kind == kind && (!is_cut || log.warnings.size() == 1)) {
            return &warning;
        }
    }
    return nullptr;
}

const NcclWarning* first_completion(const NcclLog& log, int status) {
    const auto found = std::ranges::find_if(log.warnings, [&](const NcclWarning& warning) {
        return warning.kind == WarningKind::completion && warning.status == status;
    });
    return found == log.warnings.end() ? nullptr : &*found;
}

/// "::ffff:10.20.5.11" is a GID of RoCE v2 over IPv4; its network by the first three numbers.
std::string_view network_of(std::string_view gid) {
    constexpr std::string_view mapped = "::ffff:";
    const auto at = gid.find(mapped);
    if (at == std::string_view::npos) {
        return {};
    }
    const auto address = gid.substr(at + mapped.size());
    return address.substr(0, address.rfind('.'));
}

bool is_routable(std::string_view gid) {
    return !gid.empty() && !gid.starts_with("fe80");
}

/// A queue pair that is not connected: what its text and its two ends tell.
Finding find_unconnected(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto* warning = first_of(*facts.nccl, WarningKind::modify_qp);
    if (warning == nullptr) {
        return not_found();
    }
    auto finding = found(Confidence::likely, "", {warning->first});
    finding.expected = "NICs that can be connected";
    if (contains(warning->first.text, "Network is unreachable")) {
        finding.what =
            "A NIC has no route to the GID of its peer: its RoCE address is missing or "
            "in a network that the other cannot reach. What follows in the log, closed "
            "connections and failed operations, comes from it.";
        finding.fix = {"show_gids on both nodes: a RoCE v2 entry with an IPv4 address on each rail",
                       "ip address; ip route: the rails' interfaces need addresses and routes",
                       "railhead health on both nodes"};
        return finding;
    }
    const auto cross = std::ranges::find_if(warning->links, [](const Link& link) {
        return !network_of(link.local).empty() && !network_of(link.remote).empty() &&
               network_of(link.local) != network_of(link.remote);
    });
    if (cross != warning->links.end()) {
        finding.what = fmt::format(
            "A NIC ({}) was to be connected with one in another network: {} with {}. On a fabric "
            "of "
            "separate rails the NICs of two rails cannot reach each other.",
            cross->device.empty() ? "not told" : printable(cross->device), printable(cross->local),
            printable(cross->remote));
        finding.fix = {"NCCL_CROSS_NIC=0", "NCCL 2.29 or later",
                       "or routes between the rails' networks"};
        return finding;
    }
    finding.role = Role::symptom;
    finding.what = "Two NICs cannot be connected: the peer does not answer on this network.";
    finding.fix = {"ib_write_bw -d DEVICE between the two nodes, rail by rail",
                   "railhead health on both nodes", "show_gids on both nodes"};
    return finding;
}

/// Completion with status 12: no answer after all retries.
Finding find_retries(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    constexpr int retry_exceeded = 12;
    const auto* warning = first_completion(*facts.nccl, retry_exceeded);
    if (warning == nullptr) {
        return not_found();
    }
    auto finding = found(Confidence::certain, "", {warning->first});
    const auto devices = facts.nccl->all_said(NcclTopic::ib_devices);
    const auto roce = std::ranges::find_if(
        devices, [](const Saying* saying) { return contains(saying->value, "/RoCE"); });
    const bool addressed = std::ranges::any_of(
        warning->links, [](const Link& link) { return is_routable(link.local); });
    finding.expected = "a connection that holds";
    if (roce != devices.end() && !addressed) {
        finding.confidence = Confidence::likely;
        finding.what =
            "A NIC gave up after all retries (status 12) over RoCE, and no GID that "
            "could be routed is told: the GID index is that of another RoCE version or "
            "of a link-local address.";
        finding.evidence.push_back((*roce)->first);
        finding.fix = {
            "NCCL_IB_GID_INDEX=3, the index of the RoCE v2 entry in show_gids; NCCL 2.21 "
            "and later find it themselves: unset it there",
            "ib_write_bw -x 3 between the two nodes"};
        return finding;
    }
    finding.role = Role::symptom;
    std::string ends;
    if (warning->links.size() > 1) {
        ends = fmt::format(" {} pairs of NICs failed, so it is no single cable.",
                           warning->links.size());
    }
    finding.what = fmt::format(
        "A NIC gave up after all retries (status 12{}): its peer, or the way "
        "to it, was gone. Requests that were flushed then (status 5) follow "
        "from it.{}",
        warning->vendor_error ? fmt::format(", vendor error {}", *warning->vendor_error)
                              : std::string{},
        ends);
    finding.fix = {"dmesg -T on both nodes: link down, Xid, out of memory at that time",
                   "railhead health on both nodes; perfquery or ethtool -S on their NICs",
                   "did the peer's process die first?  Its log has the earlier error",
                   "NCCL_IB_TIMEOUT=22 only where the fabric has to re-route"};
    return finding;
}

Finding find_protection(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    constexpr int local_protection = 4;
    const auto* warning = first_completion(*facts.nccl, local_protection);
    if (warning == nullptr) {
        return not_found();
    }
    auto finding = found(Confidence::likely,
                         "A NIC was refused the memory that it was to read (status 4, local "
                         "protection): GPU memory is not registered with it as it should be. It is "
                         "no cable.",
                         {warning->first});
    finding.fix = {
        "lsmod | grep nvidia_peermem; one of nvidia-peermem and nv_peer_mem, that of the "
        "driver's release",
        "iommu=pt (or off) in the kernel's arguments, ACS off in the PCIe switches",
        "NCCL_NET_GDR_LEVEL=LOC turns GPUDirect off: if it runs so, it is this"};
    finding.expected = "transfers that complete";
    return finding;
}

/// Names the absent where few are, of those that must be there.
Finding find_timeout(const Facts& facts) {
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    if (facts.nccl->timeouts.empty()) {
        return not_found();
    }
    const auto& timeout = facts.nccl->timeouts.front();
    std::uint64_t size = facts.nccl->world();
    if (timeout.numel_in > timeout.numel_out && timeout.numel_out > 0) {
        size = timeout.numel_in / timeout.numel_out;  // of a reduce-scatter
    } else if (timeout.numel_out > timeout.numel_in && timeout.numel_in > 0) {
        size = timeout.numel_out / timeout.numel_in;
    }
    size = std::max<std::uint64_t>(size, timeout.ranks.empty() ? 0 : timeout.ranks.back() + 1);
    auto what = fmt::format("{} {} did not end in {} s: {} of {} ranks waited for it.",
                            printable(timeout.operation), timeout.sequence,
                            timeout.longest_ms / 1000, timeout.ranks.size(), size);
    auto finding = found(Confidence::certain, "", {timeout.first});
    finding.role = Role::symptom;
    const auto absent = size - std::min<std::uint64_t>(size, timeout.ranks.size());
    if (absent > 0 && absent <= timeout.ranks.size()) {
        std::string names;
        for (std::uint32_t rank = 0; rank < size; ++rank) {
            if (!std::ranges::binary_search(timeout.ranks, rank)) {
                names += fmt::format("{}{}", names.empty() ? "" : ", ", rank);
            }
        }
        what += fmt::format(" Suspect rank {}: it did not enter the collective, or did not say so.",
                            names);
    } else if (absent > 0) {
        what += " Too few ranks are in this log to name the absent.";
    }
    finding.what = std::move(what);
    finding.fix = {"the log of the rank that is absent: its last lines, a traceback, a signal",
                   "TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 for the next "
                   "run, then railhead diagnose on the dumps",
                   "dmesg -T on its node: Xid, out of memory"};
    finding.expected = "the run goes on";
    return finding;
}

/// Kinds of warnings that say all there is to say.
struct Plain {
    WarningKind kind;
    Role role;
    std::string_view what;
    std::array<std::string_view, 3> fix;
    std::string_view expected;
};

constexpr std::array plain{
    Plain{WarningKind::open_device,
          Role::cause,
          "A NIC is there and cannot be opened: the container or the job was not given "
          "/dev/infiniband, or may lock too little memory.",
          {"give the container /dev/infiniband (enroot and pyxis: MELLANOX_VISIBLE_DEVICES=all; "
           "docker: --device=/dev/infiniband)",
           "ulimit -l unlimited: PropagateResourceLimitsExcept=MEMLOCK in slurm.conf",
           "railhead health within the container"},
          "NET/IB in place of NET/Socket"},
    Plain{WarningKind::provider,
          Role::cause,
          "libfabric has no provider for the network: the EFA or CXI library is missing or sees no "
          "device. What NCCL tries next fails too, and says so.",
          {"fi_info -p efa (or cxi) within the container",
           "the container's libfabric and plugin must be those of the host's driver",
           "NCCL_NET='AWS Libfabric' stops a silent fallback"},
          "the fabric's network in place of NET/Socket"},
    Plain{WarningKind::no_network,
          Role::cause,
          "The network that was asked for is not there: its plugin was not found under this name.",
          {"unset NCCL_NET_PLUGIN, which wins over NCCL_NET, or give it the library's name",
           "LD_LIBRARY_PATH with the folder of libnccl-net*.so",
           "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET: which names it tries"},
          "the fabric's network"},
    Plain{WarningKind::no_verbs,
          Role::cause,
          "There is no libibverbs in this environment: NCCL cannot use RDMA.",
          {"install libibverbs1 and the NIC's provider (ibverbs-providers) in the container",
           "ldconfig -p | grep ibverbs within it", "railhead health within it"},
          "NET/IB in place of NET/Socket"},
    Plain{
        WarningKind::no_interface,
        Role::cause,
        "No IP interface is left for NCCL: NCCL_SOCKET_IFNAME excludes all, or names none that is "
        "there.",
        {"ip -br address on each node; NCCL_SOCKET_IFNAME=^lo,docker",
         "the same names on each node", "unset NCCL_SOCKET_IFNAME"},
        "a start"},
    Plain{
        WarningKind::cuda,
        Role::symptom,
        "A CUDA call failed within NCCL: a GPU, a driver or a kernel of the program.",
        {"dmesg -T on that node: Xid", "CUDA_LAUNCH_BLOCKING=1 for a short run", "dcgmi diag -r 3"},
        "calls that succeed"},
    Plain{WarningKind::shared_memory,
          Role::cause,
          "Shared memory ran out: /dev/shm of the container is too small.",
          {"docker: --shm-size=16g or --ipc=host", "Kubernetes: an emptyDir of medium Memory",
           "df -h /dev/shm; rm /dev/shm/nccl-* of dead jobs"},
          "a start"},
    Plain{WarningKind::duplicate_gpu,
          Role::cause,
          "Two ranks have one GPU: each takes device 0, or there are more ranks than GPUs.",
          {"torch.cuda.set_device(local rank) before the first collective",
           "ranks of a node = GPUs of a node (--ntasks-per-node, --nproc-per-node)",
           "unset CUDA_VISIBLE_DEVICES, or one value a rank"},
          "a start"},
    Plain{WarningKind::version_clash,
          Role::cause,
          "Ranks differ in the release of NCCL or in what they call.",
          {"srun python -c 'import torch; print(torch.cuda.nccl.version())' | sort | uniq -c",
           "one container image on all nodes", "the same order of collectives on all ranks"},
          "a start"},
    Plain{WarningKind::port_event,
          Role::cause,
          "A port of a NIC changed its state while the job ran: a link flapped.",
          {"dmesg -T | grep -i link on that node", "ibdiagnet, mlxlink -d DEVICE -m: the cable",
           "drain the node until the link holds"},
          "a connection that holds"},
    Plain{WarningKind::connect,
          Role::symptom,
          "A TCP connection between ranks was refused or took too long.",
          {"NCCL_SOCKET_IFNAME=^lo,docker or the name of the nodes' network",
           "is a port between the nodes closed by a firewall?", "did the peer die first?"},
          "a start"},
    Plain{WarningKind::verbs,
          Role::symptom,
          "A call of libibverbs failed.",
          {"railhead health on that node", "ibv_devinfo -v; ulimit -l", "dmesg -T"},
          "calls that succeed"},
    Plain{WarningKind::other,
          Role::symptom,
          "NCCL warns of what no rule knows.",
          {"NCCL_DEBUG=INFO for the lines before it", "dmesg -T on that node",
           "the text of the warning, in NVIDIA/nccl's issues"},
          "no warning"},
};

Finding found_plain(const Plain& known, const Evidence& evidence) {
    auto finding = found(known.role == Role::cause ? Confidence::likely : Confidence::certain,
                         std::string{known.what}, {evidence});
    finding.role = known.role;
    finding.fix.assign(known.fix.begin(), known.fix.end());
    finding.expected = known.expected;
    return finding;
}

template <std::size_t place>
Finding find_plain(const Facts& facts) {
    constexpr const Plain& known = plain[place];
    if (!facts.nccl) {
        return unknown({Input::nccl_log});
    }
    const auto* warning = first_of(*facts.nccl, known.kind);
    if (warning == nullptr) {
        return not_found();
    }
    return found_plain(known, warning->first);
}

/// libfabric tells it in a warning of its plugin, or in a line of its own.
Finding find_no_provider(const Facts& facts) {
    constexpr std::size_t provider = 1;
    static_assert(plain[provider].kind == WarningKind::provider);
    auto finding = find_plain<provider>(facts);
    if (finding.answer != Answer::not_found) {
        return finding;
    }
    for (const auto* saying : facts.nccl->all_said(NcclTopic::provider)) {
        if (contains(saying->value, "empty list") || contains(saying->value, "ould not find any")) {
            return found_plain(plain[provider], saying->first);
        }
    }
    return finding;
}

constexpr std::string_view of_device[] = {"socket-fallback", "no-ib-device", "nccl-verbs"};
constexpr std::string_view of_provider[] = {"socket-fallback", "no-libibverbs"};
constexpr std::string_view of_network[] = {"socket-fallback", "plugin-trouble"};
constexpr std::string_view of_verbs[] = {"socket-fallback", "no-ib-device"};
constexpr std::string_view of_links[] = {"collective-timeout", "hang", "nccl-connect"};

constexpr Rule rules[] = {
    {"nic-not-opened", "NICs that cannot be opened",
     "without RDMA NCCL takes TCP, ten times slower", of_device, find_plain<0>},
    {"no-provider", "libfabric without a provider", "without it NCCL takes TCP, ten times slower",
     of_provider, find_no_provider},
    {"no-network", "a network that was asked for and is not there",
     "the job ends, or takes a slower one", of_network, find_plain<2>},
    {"no-libibverbs", "an environment without libibverbs",
     "without RDMA NCCL takes TCP, ten times slower", of_verbs, find_plain<3>},
    {"no-interface", "no IP interface for NCCL", "the job cannot start", of_links, find_plain<4>},
    {"unconnected-nics", "NICs that cannot be connected", "the job ends at its first collective",
     of_links, find_unconnected},
    {"memory-protection", "NICs that may not read GPU memory", "the job ends", of_links,
     find_protection},
    {"port-event", "ports that change their state", "a link that flaps ends the job, or slows it",
     of_links, find_plain<9>},
    {"retry-exceeded", "NICs that give up after all retries", "the job ends", of_links,
     find_retries},
    {"shared-memory", "too little shared memory", "ranks of a node cannot talk", of_links,
     find_plain<6>},
    {"duplicate-gpu", "two ranks on one GPU", "the job cannot start", of_links, find_plain<7>},
    {"ranks-differ", "ranks with different releases or calls", "collectives hang or fail", of_links,
     find_plain<8>},
    {"cuda-failure", "CUDA calls that fail", "the job ends", of_links, find_plain<5>},
    {"nccl-verbs", "calls of libibverbs that fail", "a NIC that is left out makes the others' load",
     of_links, find_plain<11>},
    {"collective-timeout",
     "collectives that do not end, and who is absent",
     "one rank that does not come stops all",
     {},
     find_timeout},
    {"nccl-connect",
     "connections between ranks that fail",
     "the job cannot start",
     {},
     find_plain<10>},
    {"nccl-warning",
     "other warnings of NCCL",
     "NCCL warns of nothing that does not matter",
     {},
     find_plain<12>},
};

}  // namespace

std::span<const Rule> nccl_error_rules() {
    return rules;
}

}  // namespace railhead::diagnose
