#include "diagnose/kernel_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/kernel_links.hpp"

namespace railhead::diagnose {

namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// The first PCI address, "0000:3b:00.0"; empty where there is none.
std::string_view pci_address(std::string_view text) {
    constexpr std::string_view shape = "xxxx:xx:xx.x";
    for (std::size_t at = 0; at + shape.size() <= text.size(); ++at) {
        bool fits = true;
        for (std::size_t i = 0; i < shape.size() && fits; ++i) {
            fits = shape[i] == 'x' ? is_hex(text[at + i]) : text[at + i] == shape[i];
        }
        if (fits) {
            return text.substr(at, shape.size());
        }
    }
    return {};
}

/// "host kernel: " or "host kernel[0]: ": the host, which is taken off with it.
std::string_view take_host(std::string_view& text) {
    const auto first = text.find(' ');
    if (first == std::string_view::npos || !text.substr(first + 1).starts_with("kernel")) {
        return {};
    }
    const auto colon = text.find(": ", first);
    if (colon == std::string_view::npos || colon > first + 16) {
        return {};
    }
    const auto host = text.substr(0, first);
    text.remove_prefix(colon + 2);
    return host;
}

/// The job in "task_memcg=/system.slice/slurmstepd.scope/job_4242/step_0/…".
std::optional<std::uint64_t> job_in(std::string_view text) {
    return parse_number<std::uint64_t>(word_after(text, "/job_", "/, "));
}

/// "Out of memory: Killed process 123 (python3) total-vm:…": the name in brackets.
std::string_view killed_name(std::string_view text) {
    const auto process = text.find("illed process ");
    return process == std::string_view::npos ? std::string_view{}
                                             : word_after(text.substr(process), "(", ")");
}

/// What stands in every line that tells something: most lines have none of it.
constexpr std::array<std::string_view, 14> tellers{
    "Xid (",          "RmInitAdapter", "PCIe Bus Error",        "AER: ", "DPC: ",       "oom-kill:",
    "illed process ", "EDAC MC",       "[Hardware Error]: CPU", "ink ",  "odule event", "Lustre",
    "nfs: server ",   "INFO: task "};

bool may_tell(std::string_view line) {
    return std::ranges::any_of(tellers, [&](std::string_view teller) { return has(line, teller); });
}

}  // namespace

std::string_view name_of(KernelEventKind kind) {
    static constexpr std::array<std::string_view, 20> names{"Xid",
                                                            "fatal SXid",
                                                            "SXid",
                                                            "GPU did not start",
                                                            "corrected PCIe error",
                                                            "uncorrected PCIe error",
                                                            "fatal PCIe error",
                                                            "PCIe port taken down",
                                                            "machine check",
                                                            "corrected memory error",
                                                            "uncorrected memory error",
                                                            "host out of memory",
                                                            "job out of memory",
                                                            "link down",
                                                            "link up",
                                                            "cable or module",
                                                            "Lustre eviction",
                                                            "Lustre connection lost",
                                                            "NFS server not responding",
                                                            "hung task"};
    return names.at(static_cast<std::size_t>(kind));
}

void KernelLogReader::read_line(std::string_view line) {
    ++log_.lines;
    if (!may_tell(line)) {
        return;
    }
    auto text = line;
    when_ = take_when(text);
    if (when_.written.empty()) {
        static_cast<void>(take_label(text, "kernel"));
        when_ = take_when(text);
    }
    host_ = take_host(text);
    if (host_.empty() && text.starts_with("kernel: ")) {
        text.remove_prefix(8);
    }
    // journalctl -k -o short-monotonic and some relays have the time after the host.
    if (when_.written.empty() || text.starts_with('[')) {
        const auto inner = take_when(text);
        when_ = when_.at_s ? when_ : inner;
    }
    read_message(text);
}

void KernelLogReader::read_message(std::string_view text) {
    if (has(text, "oom-kill:constraint=")) {
        job_ = job_in(text);
        return;
    }
    static_cast<void>(read_gpu(text) || read_pcie(text) || read_memory(text) ||
                      read_storage(text) || read_link(text));
}

/// "NVRM: Xid (PCI:0000:cb:00): 79, pid=123, name=python3, GPU has fallen off the bus."
bool KernelLogReader::read_gpu(std::string_view text) {
    const auto xid = text.find("Xid (");
    if (xid == std::string_view::npos) {
        if (has(text, "RmInitAdapter failed")) {
            add({KernelEventKind::gpu_init, pci_address(text)});
            return true;
        }
        return false;
    }
    const auto close = text.find("): ", xid);
    if (close == std::string_view::npos) {
        return true;
    }
    auto device = text.substr(xid + 5, close - xid - 5);
    device.remove_prefix(device.starts_with("PCI:") ? 4 : 0);
    const auto rest = text.substr(close + 3);
    const auto number = parse_number<std::uint64_t>(rest.substr(0, rest.find_first_of(", ")));
    if (!number) {
        return true;
    }
    if (xid > 0 && text[xid - 1] == 'S') {
        if (has(rest, ", Fatal,")) {
            add({KernelEventKind::sxid_fatal, device, *number});
        } else if (has(rest, ", Non-fatal,")) {
            add({KernelEventKind::sxid_nonfatal, device, *number});
        }  // else a line of details
        return true;
    }
    auto process = word_after(rest, "name=", ",");
    process = process.starts_with('<') ? std::string_view{} : process;
    add({KernelEventKind::xid, device, *number, process});
    return true;
}

/// "mlx5_core 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
bool KernelLogReader::read_pcie(std::string_view text) {
    const auto severity = text.find("PCIe Bus Error: severity=");
    if (severity == std::string_view::npos && !has(text, "AER: ") && !has(text, "DPC: ")) {
        return false;
    }
    const bool corrected = has(text, "Correct");
    const bool fatal = has(text, "(Fatal)") || has(text, "Uncorrected, Fatal");
    const auto kind = corrected ? KernelEventKind::pcie_corrected
                      : fatal   ? KernelEventKind::pcie_fatal
                                : KernelEventKind::pcie_nonfatal;
    if (severity != std::string_view::npos) {
        add({kind, pci_address(text)});
        return true;
    }
    if (has(text, "DPC: containment event")) {
        add({KernelEventKind::pcie_contained, pci_address(text)});
        return true;
    }
    const auto received = std::min(text.find("received: "), text.find("received from "));
    if (!has(text, "AER: ") || received == std::string_view::npos) {
        return false;
    }
    const auto device = pci_address(text.substr(received));
    auto event = make({kind, device.empty() ? pci_address(text) : device});
    const auto key = fmt::format("{}/{}/{}", static_cast<int>(kind), event.host, event.device);
    if (announced_.size() < most_events) {
        const auto [at, is_new] = announced_.try_emplace(key, std::move(event));
        at->second.count += is_new ? 0 : 1;
        at->second.last_at_s = when_.at_s;
        at->second.last_uptime_s = when_.uptime_s;
    }
    return true;
}

bool KernelLogReader::read_memory(std::string_view text) {
    if (has(text, "Killed process ") || has(text, "killed process ")) {
        const bool in_job = has(text, "emory cgroup out of memory");
        if (in_job || has(text, "Out of memory")) {
            add({in_job ? KernelEventKind::cgroup_oom_kill : KernelEventKind::oom_kill,
                 {},
                 0,
                 killed_name(text)});
            job_.reset();
            return true;
        }
    }
    if (text.starts_with("EDAC MC")) {
        const auto device = word_after(text, "EDAC ", ":");
        if (has(text, " UE ")) {
            add({KernelEventKind::memory_uncorrected, device});
        } else if (has(text, " CE ")) {
            add({KernelEventKind::memory_corrected, device});
        }
        return true;
    }
    const auto hardware = text.find("[Hardware Error]: CPU ");
    if (hardware != std::string_view::npos && has(text, "Machine Check")) {
        const auto cpu = text.substr(hardware + 18);
        add({KernelEventKind::machine_check, cpu.substr(0, cpu.find(':'))});
        return true;
    }
    return false;
}

bool KernelLogReader::read_link(std::string_view text) {
    if (has(text, "Port module event")) {
        if (has(text, "unplugged") || has(text, "[error]") || has(text, "emperature")) {
            add({KernelEventKind::cable, pci_address(text)});
        }
        return true;
    }
    const auto said = find_link_event(text);
    if (said) {
        add({said->kind, said->device});
    }
    return said.has_value();
}

bool KernelLogReader::read_storage(std::string_view text) {
    if (has(text, "This client was evicted by ")) {
        add({KernelEventKind::lustre_eviction, word_after(text, "evicted by ", "; ,")});
    } else if (text.starts_with("Lustre") && has(text, "Connection to ") && has(text, "was lost")) {
        add({KernelEventKind::lustre_lost, word_after(text, "Connection to ", " ")});
    } else if (text.starts_with("nfs: server ") && has(text, "not responding")) {
        add({KernelEventKind::nfs_stall, word_after(text, "nfs: server ", " ")});
    } else if (text.starts_with("INFO: task ") && has(text, "blocked for more than")) {
        const auto task = word_after(text, "INFO: task ", " ");
        add({KernelEventKind::hung_task, {}, 0, task.substr(0, task.rfind(':'))});
    } else {
        return false;
    }
    return true;
}

KernelEvent KernelLogReader::make(const Found& found) const {
    KernelEvent event;
    event.kind = found.kind;
    event.host = host_;
    event.device = found.device;
    event.number = found.number;
    event.process = found.process;
    event.at_s = event.last_at_s = when_.at_s;
    event.uptime_s = event.last_uptime_s = when_.uptime_s;
    event.evidence = evidence();
    return event;
}

void KernelLogReader::add(const Found& found) {
    auto event = make(found);
    if (found.kind == KernelEventKind::cgroup_oom_kill || found.kind == KernelEventKind::oom_kill) {
        event.job = job_;
    }
    put(std::move(event));
}

void KernelLogReader::put(KernelEvent event) {
    const auto key = fmt::format("{}/{}/{}/{}/{}", static_cast<int>(event.kind), event.host,
                                 event.device, event.number, event.job.value_or(0));
    const auto known = known_.find(key);
    if (known != known_.end()) {
        auto& first = log_.events[known->second];
        first.count += event.count;
        first.last_at_s = event.last_at_s;
        first.last_uptime_s = event.last_uptime_s;
        return;
    }
    if (log_.events.size() == most_events) {
        log_.left_out += event.count;
        return;
    }
    known_.emplace(key, log_.events.size());
    log_.events.push_back(std::move(event));
}

void KernelLogReader::read_end() {
    for (auto& announced : announced_) {
        auto& event = announced.second;
        const auto told = std::ranges::find_if(log_.events, [&](const KernelEvent& other) {
            return other.kind == event.kind && other.host == event.host &&
                   other.device == event.device;
        });
        if (told == log_.events.end()) {
            put(std::move(event));
        }
    }
    announced_.clear();
    std::ranges::stable_sort(log_.events, {},
                             [](const KernelEvent& event) { return event.evidence.line; });
}

}  // namespace railhead::diagnose
