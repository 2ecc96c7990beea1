// Rules on what nodes say of themselves: kernel log, nvidia-smi, DCGM, PCI, RDMA ports.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/xid.hpp"

namespace railhead::diagnose {

namespace {

/// The first event of one of these kinds; null where there is none.
const KernelEvent* first_event(const Facts& facts, std::initializer_list<KernelEventKind> kinds) {
    for (const auto& log : facts.machine.kernel_logs) {
        for (const auto& event : log.events) {
            if (std::ranges::find(kinds, event.kind) != kinds.end()) {
                return &event;
            }
        }
    }
    return nullptr;
}

/// "mlx5_0 of node7"; empty parts are left out.
std::string whose(std::string_view device, std::string_view host) {
    return fmt::format("{}{}{}", printable(device), !device.empty() && !host.empty() ? " of " : "",
                       printable(host));
}

Finding find_xid_event(const Facts& facts) {
    if (facts.machine.kernel_logs.empty()) {
        return unknown({Input::kernel_log});
    }
    for (const auto& log : facts.machine.kernel_logs) {
        for (const auto& event : log.events) {
            const auto* xid = event.kind == KernelEventKind::xid ? find_xid(event.number) : nullptr;
            const auto action = xid != nullptr ? xid->action : XidAction::not_stated;
            if (event.kind != KernelEventKind::xid || action == XidAction::ignore ||
                action == XidAction::follow_other) {
                continue;
            }
            auto finding =
                found(Confidence::certain,
                      fmt::format("GPU {} reported Xid {}{}{}.", whose(event.device, event.host),
                                  event.number, xid != nullptr ? ": " : "",
                                  xid != nullptr ? xid->meaning : std::string_view{}),
                      {event.evidence});
            // What the program did wrong is not the GPU's fault.
            finding.role = action == XidAction::restart_job ? Role::symptom : Role::cause;
            finding.fix = {std::string{advice_of(action)},
                           "scontrol update nodename=NODE state=drain reason=xid; dcgmi diag -r 3"};
            finding.expected = "a GPU without errors";
            return finding;
        }
    }
    return not_found();
}

/// Kinds of events of the kernel that say all there is to say.
struct Plain {
    std::initializer_list<KernelEventKind> kinds;
    std::string_view what;  ///< stands behind whose it is
    std::string_view fix, next, expected;
};

Finding find_event(const Facts& facts, const Plain& known) {
    if (facts.machine.kernel_logs.empty()) {
        return unknown({Input::kernel_log});
    }
    const auto* event = first_event(facts, known.kinds);
    if (event == nullptr) {
        return not_found();
    }
    auto finding = found(
        Confidence::certain,
        fmt::format("{}: {}{}.", whose(event->device, event->host), known.what,
                    event->count > 1 ? fmt::format(", {} times", event->count) : std::string{}),
        {event->evidence});
    finding.fix = {std::string{known.fix}, std::string{known.next}};
    finding.expected = known.expected;
    return finding;
}

Finding find_switch(const Facts& facts) {
    return find_event(facts, {{KernelEventKind::sxid_fatal},
                              "an NVSwitch reported a fatal error",
                              "drain the node, reboot it, nvidia-smi nvlink -e",
                              "dcgmi diag -r 3; return the board where it comes back",
                              "NVLink on all GPUs"});
}

Finding find_pcie(const Facts& facts) {
    return find_event(facts, {{KernelEventKind::pcie_fatal, KernelEventKind::pcie_nonfatal,
                               KernelEventKind::pcie_contained, KernelEventKind::gpu_init},
                              "PCIe errors that were not corrected, or a GPU that did not start",
                              "drain the node and power-cycle it",
                              "reseat or replace the device",
                              "a device that stays"});
}

Finding find_memory_error(const Facts& facts) {
    return find_event(facts,
                      {{KernelEventKind::machine_check, KernelEventKind::memory_uncorrected},
                       "a machine check, or an error of the host's memory that was not corrected",
                       "drain the node; edac-util -v, the BMC's log",
                       "replace the DIMM",
                       "a node that stays up"});
}

Finding find_oom_kill(const Facts& facts) {
    return find_event(facts,
                      {{KernelEventKind::oom_kill, KernelEventKind::cgroup_oom_kill},
                       "the kernel killed a process since memory of the host was used up",
                       "#SBATCH --mem=0 (all of the node), fewer loader workers, no copy of the "
                       "data set in each",
                       "does a checkpoint collect the whole state on one rank?",
                       "ranks that live"});
}

Finding find_link_flap(const Facts& facts) {
    return find_event(facts,
                      {{KernelEventKind::link_down, KernelEventKind::cable},
                       "a network link went down, or its cable has errors",
                       "mlxlink -d DEVICE -m; ethtool -S: clean, reseat or replace the cable",
                       "drain the node until the link holds",
                       "a link that holds"});
}

Finding find_storage(const Facts& facts) {
    return find_event(facts, {{KernelEventKind::lustre_eviction, KernelEventKind::lustre_lost,
                               KernelEventKind::nfs_stall},
                              "the file system evicted the client, or did not answer",
                              "lfs check servers; the servers' logs at that time",
                              "checkpoints and loaders that try again",
                              "reads and writes that do not stop"});
}

Finding find_throttle(const Facts& facts) {
    if (facts.machine.gpu_states.empty()) {
        return unknown({Input::gpu_states});
    }
    for (const auto& states : facts.machine.gpu_states) {
        for (const auto& gpu : states.gpus) {
            for (const auto reason : {ClockReason::hw_slowdown, ClockReason::hw_thermal,
                                      ClockReason::hw_power_brake, ClockReason::sw_thermal}) {
                if (!gpu.is_active(reason)) {
                    continue;
                }
                auto what = fmt::format("GPU {} is held down: {}", whose(gpu.bus_id, gpu.host),
                                        name_of(reason));
                if (gpu.sm_mhz && gpu.max_sm_mhz) {
                    what += fmt::format(", {:.0f} of {:.0f} MHz", *gpu.sm_mhz, *gpu.max_sm_mhz);
                }
                if (gpu.temperature_c) {
                    what += fmt::format(", at {:.0f} C", *gpu.temperature_c);
                }
                auto finding =
                    found(Confidence::certain, what + ".",
                          {gpu.evidence, gpu.active_evidence.at(static_cast<std::size_t>(reason))});
                finding.fix = {"fans, air flow and inlet temperature of the node (ipmitool sensor)",
                               "power supplies: a brake means that one is gone",
                               "drain the node until its clocks stay"};
                finding.expected =
                    "one GPU of 16 that throttled made a job five times slower as "
                    "reported: all wait for it";
                return finding;
            }
        }
    }
    return not_found();
}

Finding find_bad_gpu(const Facts& facts) {
    if (facts.machine.gpu_states.empty()) {
        return unknown({Input::gpu_states});
    }
    for (const auto& states : facts.machine.gpu_states) {
        for (const auto& gpu : states.gpus) {
            const bool bad = gpu.remap_pending || gpu.remap_failed || gpu.reset_required ||
                             gpu.uncorrected.value_or(0) > 0;
            if (!bad) {
                continue;
            }
            auto finding = found(
                Confidence::certain,
                fmt::format("GPU {} has {}.", whose(gpu.bus_id, gpu.host),
                            gpu.remap_failed     ? "a row of memory that could not be remapped"
                            : gpu.remap_pending  ? "a row of memory that is to be remapped"
                            : gpu.reset_required ? "to be reset"
                                                 : "errors of its memory that were not corrected"),
                {gpu.evidence});
            finding.fix = {"drain the node, nvidia-smi -r (or reboot), dcgmi diag -r 3",
                           "return the GPU where a row could not be remapped"};
            finding.expected = "a GPU without errors";
            return finding;
        }
    }
    return not_found();
}

Finding find_narrow_pcie(const Facts& facts) {
    if (facts.machine.gpu_states.empty() && facts.machine.pci.empty()) {
        return unknown({Input::gpu_states, Input::pci});
    }
    for (const auto& states : facts.machine.gpu_states) {
        for (const auto& gpu : states.gpus) {
            if (!gpu.pcie_width || !gpu.pcie_width_max || *gpu.pcie_width >= *gpu.pcie_width_max) {
                continue;
            }
            auto finding = found(
                Confidence::certain,
                fmt::format("GPU {} has {:.0f} of {:.0f} PCIe lanes.", whose(gpu.bus_id, gpu.host),
                            *gpu.pcie_width, *gpu.pcie_width_max),
                {gpu.evidence});
            finding.fix = {"drain the node, reseat the GPU or its riser", "update the BIOS"};
            finding.expected = "all lanes";
            return finding;
        }
    }
    return not_found();
}

Finding find_dcgm(const Facts& facts) {
    if (facts.machine.dcgm.empty()) {
        return unknown({Input::dcgm});
    }
    for (const auto& report : facts.machine.dcgm) {
        const auto failed = std::ranges::find(report.checks, DcgmResult::fail, &DcgmCheck::result);
        if (failed == report.checks.end()) {
            continue;
        }
        auto finding =
            found(Confidence::certain,
                  fmt::format("DCGM's check \"{}\" failed{}{}.", printable(failed->name),
                              failed->detail.empty() ? "" : ": ", printable(failed->detail)),
                  {failed->evidence});
        finding.fix = {"drain the node; dcgmi diag -r 4", "nvidia-smi -q -d ECC,ROW_REMAPPER"};
        finding.expected = "a pass";
        return finding;
    }
    return not_found();
}

Finding find_acs(const Facts& facts) {
    if (facts.machine.pci.empty()) {
        return unknown({Input::pci});
    }
    for (const auto& pci : facts.machine.pci) {
        const auto on =
            std::ranges::find_if(pci.acs, [](const AcsState& state) { return state.redirects(); });
        if (on == pci.acs.end()) {
            continue;
        }
        auto finding = found(
            Confidence::likely,
            fmt::format("ACS redirects peer traffic{}: what GPUs and NICs send each other goes "
                        "through the IOMMU, at half the speed, or hangs.",
                        on->address.empty() ? std::string{}
                                            : fmt::format(" at {}", whose(on->address, on->host))),
            {on->evidence});
        finding.fix = {"for each PCI bridge: setpci -s ADDRESS ECAP_ACS+6.w=0000 (at each boot)",
                       "or ACS off in the BIOS; in virtual machines it has to stay"};
        finding.expected = "peer traffic within the switch";
        return finding;
    }
    return not_found();
}

Finding find_port_down(const Facts& facts) {
    if (facts.machine.ports.empty()) {
        return unknown({Input::ports});
    }
    for (const auto& ports : facts.machine.ports) {
        const auto down = std::ranges::find_if(ports, [](const PortState& port) {
            return !port.is_active() && port.physical != "Disabled";
        });
        if (down == ports.end()) {
            continue;
        }
        auto finding = found(
            Confidence::possible,
            fmt::format("Port {} of {} is {} ({}): a rail that is lost, unless nobody uses it.",
                        down->port, whose(down->device, down->host), printable(down->state),
                        printable(down->physical)),
            {down->evidence});
        finding.role = Role::advice;
        finding.fix = {"railhead health on that node", "mlxlink -d DEVICE -m: the cable"};
        finding.expected = "all rails";
        return finding;
    }
    return not_found();
}

constexpr std::string_view of_gpu[] = {"slow-part",  "cuda-failure",  "rank-failed",
                                       "hang",       "nan",           "collective-timeout",
                                       "slow-steps", "retry-exceeded"};
constexpr std::string_view of_memory[] = {"rank-failed", "retry-exceeded", "collective-timeout",
                                          "hang"};
constexpr std::string_view of_link[] = {"retry-exceeded", "port-event", "collective-timeout",
                                        "hang",           "slow-part",  "slow-network",
                                        "missing-rail"};
constexpr std::string_view of_storage[] = {"hang", "slow-steps", "rank-failed", "checkpoint-stall"};
constexpr std::string_view of_acs[] = {"p2p-off", "no-nvlink", "slow-network", "gdr-off"};

constexpr Rule rules[] = {
    {"xid", "errors of GPUs that the driver reports", "a GPU with errors ends jobs, or slows them",
     of_gpu, find_xid_event},
    {"nvswitch-error", "fatal errors of NVSwitches", "all GPUs of the node lose NVLink", of_gpu,
     find_switch},
    {"pcie-error", "PCIe errors that were not corrected", "a device that goes away ends the job",
     of_gpu, find_pcie},
    {"machine-check", "errors of the host's CPUs and memory", "the node goes down", of_memory,
     find_memory_error},
    {"host-memory", "processes that the kernel killed for memory", "one rank that dies ends all",
     of_memory, find_oom_kill},
    {"link-flap", "network links that went down", "a link that flaps ends the job, or slows it",
     of_link, find_link_flap},
    {"storage-gone", "file systems that did not answer", "loaders and checkpoints wait for it",
     of_storage, find_storage},
    {"gpu-throttle", "GPUs whose clocks are held down", "all ranks wait for the slowest", of_gpu,
     find_throttle},
    {"gpu-memory-error", "GPUs with errors of their memory", "a GPU with errors ends jobs", of_gpu,
     find_bad_gpu},
    {"narrow-pcie", "GPUs with fewer PCIe lanes than they have", "its copies take twice as long",
     of_gpu, find_narrow_pcie},
    {"dcgm-failed", "checks of DCGM that failed", "the node does not do what it should", of_gpu,
     find_dcgm},
    {"acs", "PCIe switches that redirect peer traffic", "GPUs and NICs talk at half their speed",
     of_acs, find_acs},
    {"port-down",
     "RDMA ports that are not active",
     "bandwidth is that of the others",
     {},
     find_port_down},
};

}  // namespace

std::span<const Rule> node_rules() {
    return rules;
}

}  // namespace railhead::diagnose
