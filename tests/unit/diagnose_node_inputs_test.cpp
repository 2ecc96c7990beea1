// What nodes say of themselves: kernel log, nvidia-smi, DCGM, RDMA ports, PCI.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/dcgm.hpp"
#include "diagnose/gpu_state.hpp"
#include "diagnose/kernel_log.hpp"
#include "diagnose/lspci.hpp"
#include "diagnose/ports_text.hpp"
#include "diagnose/when.hpp"
#include "diagnose/xid.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/diagnose_inputs.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::ClockReason;
using diagnose::DcgmResult;
using diagnose::KernelEventKind;
using railhead::test::diagnose_file;
using Kernel = railhead::test::ReadBy<diagnose::KernelLogReader>;
using Gpus = railhead::test::ReadBy<diagnose::GpuStateReader>;
using Dcgm = railhead::test::ReadBy<diagnose::DcgmReader>;
using Ports = railhead::test::ReadBy<diagnose::PortStateReader>;
using Lspci = railhead::test::ReadBy<diagnose::LspciReader>;

namespace {

struct Expected {
    KernelEventKind kind;
    std::string device;
    std::uint64_t number;
    std::uint64_t count;
    std::uint64_t line;
};

void check_events(const diagnose::KernelLog& log, const std::vector<Expected>& expected) {
    for (std::size_t i = 0; i < std::max(log.events.size(), expected.size()); ++i) {
        CAPTURE(i);
        REQUIRE(i < log.events.size());
        const auto& event = log.events[i];
        CAPTURE(event.evidence.text);
        REQUIRE(i < expected.size());
        CHECK(event.kind == expected[i].kind);
        CHECK(event.device == expected[i].device);
        CHECK(event.number == expected[i].number);
        CHECK(event.count == expected[i].count);
        CHECK(event.evidence.line == expected[i].line);
    }
}

}  // namespace

TEST_CASE("a GPU that fell off the bus is told with what came before and after it", "[diagnose]") {
    const Kernel read{diagnose_file("kernel-gpu-fell-off-the-bus.log")};

    check_events(read->log(), {{KernelEventKind::xid, "0000:91:00", 79, 1, 5},
                               {KernelEventKind::sxid_fatal, "0000:06:00.0", 20034, 1, 7},
                               {KernelEventKind::sxid_nonfatal, "0000:06:00.0", 19084, 1, 10},
                               {KernelEventKind::xid, "0000:91:00", 45, 2, 11},
                               {KernelEventKind::xid, "0000:91:00", 154, 1, 13}});
    const auto& events = read->log().events;
    CHECK(events[0].uptime_s == 81741.548779);
    CHECK_FALSE(events[0].at_s);
    CHECK(events[0].process.empty());
    CHECK(events[3].process == "python3");
    CHECK(events[3].last_uptime_s == 81760.0001);
}

TEST_CASE("PCIe and memory errors are told by device, and who was killed in which job",
          "[diagnose]") {
    const Kernel read{diagnose_file("kernel-memory-and-pcie.log")};

    // Line 6 is all that tells of 5e:00.0; lines 1 and 4 announce what 2 and 5 tell.
    check_events(read->log(), {{KernelEventKind::pcie_corrected, "0000:3b:00.0", 0, 2, 2},
                               {KernelEventKind::pcie_corrected, "0000:5e:00.0", 0, 1, 6},
                               {KernelEventKind::pcie_fatal, "0000:c4:00.0", 0, 1, 7},
                               {KernelEventKind::pcie_contained, "0000:c0:01.1", 0, 1, 8},
                               {KernelEventKind::machine_check, "CPU 3", 0, 1, 10},
                               {KernelEventKind::memory_corrected, "MC0", 0, 1, 11},
                               {KernelEventKind::memory_uncorrected, "MC1", 0, 1, 12},
                               {KernelEventKind::cgroup_oom_kill, "", 0, 1, 14},
                               {KernelEventKind::oom_kill, "", 0, 1, 15}});
    const auto& events = read->log().events;
    CHECK(events[0].at_s == 1725016282);  // 2024-08-30 11:11:22 UTC
    CHECK(events[7].job == 4242U);
    CHECK(events[7].process == "pt_data_worker");
    CHECK_FALSE(events[8].job);
    CHECK(events[8].process == "python3");
}

TEST_CASE("links that flap and storage that goes away are told by host", "[diagnose]") {
    const Kernel read{diagnose_file("kernel-links-and-storage.log")};

    check_events(read->log(), {{KernelEventKind::link_down, "ens3f0np0", 0, 2, 1},
                               {KernelEventKind::link_up, "ens3f0np0", 0, 2, 2},
                               {KernelEventKind::link_down, "mlx5_4", 0, 1, 5},
                               {KernelEventKind::cable, "0000:c1:00.0", 0, 1, 6},
                               {KernelEventKind::link_down, "eth0", 0, 2, 7},
                               {KernelEventKind::lustre_eviction, "lustre-OST0001", 0, 1, 10},
                               {KernelEventKind::lustre_lost, "lustre-MDT0000", 0, 1, 11},
                               {KernelEventKind::nfs_stall, "nas-1", 0, 1, 12},
                               {KernelEventKind::hung_task, "", 0, 1, 13},
                               {KernelEventKind::xid, "0000:4e:00", 31, 1, 14}});
    const auto& events = read->log().events;
    CHECK(events[0].host == "gpu-017");
    CHECK(events[2].host == "gpu-018");
    CHECK(events[0].at_s == 1725010989);  // 09:43:09 UTC
    CHECK(events[0].last_at_s == 1725011049);
    CHECK(events[8].process == "python3");
}

TEST_CASE("a kernel log without trouble has no event", "[diagnose]") {
    const Kernel read{diagnose_file("kernel-healthy.log")};

    check_events(read->log(), {});
    CHECK(read->log().lines == 8);
}

TEST_CASE("an Xid is read in every shape that drivers and logs give it", "[diagnose]") {
    struct Case {
        const char* why;
        const char* line;
        const char* device;
        std::uint64_t number;
    };
    const auto c = GENERATE(values<Case>({
        {"driver before R450: no PCI", "[1.5] NVRM: Xid (0000:03:00): 14, Channel 00000001",
         "0000:03:00", 14},
        {"journal", "Oct 01 13:00:00 n1 kernel: NVRM: Xid (PCI:0000:06:00): 41, pid=1, Ch 2",
         "0000:06:00", 41},
        {"a PID after the host's kernel",
         "Oct 01 13:00:00 n1 kernel[0]: NVRM: Xid (PCI:0000:06:00): 48, x", "0000:06:00", 48},
        {"dmesg -x", "kern  :err   : [   12.000001] NVRM: Xid (PCI:0000:06:00): 48, pid=1",
         "0000:06:00", 48},
        {"/dev/kmsg", "<3>[   12.000001] NVRM: Xid (PCI:0000:06:00): 48, pid=1", "0000:06:00", 48},
        {"srun --label", " 3: [   12.000001] NVRM: Xid (PCI:0000:06:00): 48, pid=1", "0000:06:00",
         48},
        {"nothing before it", "NVRM: Xid (PCI:0000:06:00): 95, pid=1", "0000:06:00", 95},
        {"a function", "NVRM: Xid (PCI:0000:06:00.0): 95, pid=1", "0000:06:00.0", 95},
    }));
    CAPTURE(c.why);
    const Kernel read{c.line};
    REQUIRE(read->log().events.size() == 1);
    CHECK(read->log().events[0].kind == KernelEventKind::xid);
    CHECK(read->log().events[0].device == c.device);
    CHECK(read->log().events[0].number == c.number);
}

TEST_CASE("what looks like trouble in the kernel log and is none is passed over", "[diagnose]") {
    const auto* line = GENERATE(
        "[1.0] NVRM: Xid (PCI:0000:06:00): , pid=1", "[1.0] NVRM: Xid (PCI",
        "[1.0] pcieport 0000:3a:00.0: AER: enabled with IRQ 42",
        "[1.0] ata1: SATA link down (SStatus 0 SControl 300)", "[1.0] EDAC MC0: Giving out device",
        "[1.0] mlx5_core 0000:86:00.0: Port module event: module 0, Cable plugged",
        "[1.0] mce: [Hardware Error]: TSC 0 ADDR 1", "[1.0] Killed process 12 (x) by user");
    CAPTURE(line);
    CHECK(Kernel { line } -> log().events.empty());
}

TEST_CASE("the catalogue tells what an Xid means and what to do", "[diagnose]") {
    struct Case {
        std::uint64_t number;
        diagnose::XidAction action;  // docs.nvidia.com, column "Immediate Action"
    };
    const auto c = GENERATE(values<Case>({{13, diagnose::XidAction::restart_job},
                                          {31, diagnose::XidAction::restart_job},
                                          {43, diagnose::XidAction::ignore},
                                          {63, diagnose::XidAction::ignore},
                                          {64, diagnose::XidAction::reset_gpu},
                                          {74, diagnose::XidAction::nvlink_flow},
                                          {79, diagnose::XidAction::reboot_node},
                                          {94, diagnose::XidAction::restart_job},
                                          {95, diagnose::XidAction::reset_gpu},
                                          {119, diagnose::XidAction::reset_gpu}}));
    CAPTURE(c.number);
    const auto* xid = diagnose::find_xid(c.number);
    REQUIRE(xid != nullptr);
    CHECK(xid->action == c.action);
    CHECK_FALSE(xid->meaning.empty());
    CHECK_FALSE(diagnose::advice_of(xid->action).empty());
    CHECK(diagnose::find_xid(1) == nullptr);  // "Unused"
    CHECK(diagnose::find_xid(9999) == nullptr);
}

TEST_CASE("times before a line are read, and no more than they say", "[diagnose]") {
    struct Case {
        std::string line;
        double at_s, uptime_s;  // -1: not told
        std::string rest;
    };
    const auto c = GENERATE(values<Case>({
        {"[12345.678901] x", -1, 12345.678901, "x"},
        {"[Fri Aug 30 11:43:09 2024] x", 1725018189, -1, "x"},
        {"[2024-08-30T11:43:09.500] x", 1725018189.5, -1, "x"},
        {"2024-08-30T11:43:09+0200 x", 1725010989, -1, "x"},
        {"2024-08-30T11:43:09,5Z x", 1725018189.5, -1, "x"},
        {"Aug 30 11:43:09 x", -1, -1, "x"},
        {"[core] x", -1, -1, "[core] x"},
        {"[Fri Feb 31 11:43:09 2024] x", -1, -1, "x"},
        {"2024-13-30T11:43:09 x", -1, -1, "2024-13-30T11:43:09 x"},
    }));
    CAPTURE(c.line);
    std::string_view rest = c.line;
    const auto when = diagnose::take_when(rest);
    CHECK(when.at_s.value_or(-1) == c.at_s);
    CHECK(when.uptime_s.value_or(-1) == c.uptime_s);
    CHECK(rest == c.rest);
}

TEST_CASE("nvidia-smi: two healthy GPUs", "[diagnose]") {
    const Gpus read{diagnose_file("nvidia-smi-healthy.txt")};

    const auto& states = read->states();
    CHECK(states.driver == "565.57.01");
    CHECK(states.cuda == "12.7");
    REQUIRE(states.gpus.size() == 2);
    const auto& gpu = states.gpus[1];
    CHECK(gpu.bus_id == "00000000:2A:00.0");
    CHECK(gpu.name == "NVIDIA H100 80GB HBM3");
    CHECK(gpu.reasons_told);
    CHECK(std::ranges::count(gpu.active, true) == 0);
    CHECK(gpu.sm_mhz == 1965);
    CHECK(gpu.max_sm_mhz == 1980);
    CHECK(gpu.application_sm_mhz == 1980);
    CHECK(gpu.temperature_c == 63);
    CHECK(gpu.margin_c == 12);
    CHECK(gpu.power_w == 653.2);
    CHECK(gpu.power_limit_w == 700);
    CHECK(gpu.utilization == 0.97);
    CHECK(gpu.persistence == true);
    CHECK(gpu.mig == false);
    CHECK(gpu.ecc == true);
    CHECK(gpu.corrected == 2U);
    CHECK(gpu.uncorrected == 0U);
    CHECK(gpu.pcie_gen == 5);
    CHECK(gpu.pcie_gen_host == 5);
    CHECK(gpu.pcie_width == 16);
    CHECK(gpu.pcie_replays == 7U);
    CHECK(gpu.fabric_state == "Completed");
    CHECK(gpu.recovery_action == "None");
    CHECK_FALSE(gpu.remap_pending);
    CHECK_FALSE(gpu.reset_required);
}

TEST_CASE("nvidia-smi: a GPU that is hot, on half its lanes, with bad memory", "[diagnose]") {
    const Gpus read{diagnose_file("nvidia-smi-hot-narrow-bad-memory.txt")};

    REQUIRE(read->states().gpus.size() == 2);
    CHECK(std::ranges::count(read->states().gpus[0].active, true) == 0);
    const auto& gpu = read->states().gpus[1];
    CHECK(gpu.is_active(ClockReason::hw_slowdown));
    CHECK(gpu.is_active(ClockReason::hw_thermal));
    CHECK(std::ranges::count(gpu.active, true) == 2);
    const auto& evidence = gpu.active_evidence[static_cast<std::size_t>(ClockReason::hw_thermal)];
    CHECK(evidence.line == 130);
    CHECK(evidence.text == "HW Thermal Slowdown           : Active");
    CHECK(gpu.sm_mhz == 345);
    CHECK(gpu.pcie_width == 8);
    CHECK(gpu.pcie_width_max == 16);
    CHECK(gpu.uncorrected == 2U);  // SRAM and DRAM
    CHECK(gpu.aggregate_uncorrected == 2U);
    CHECK(gpu.remapped_uncorrected == 1U);
    CHECK(gpu.remap_pending);
    CHECK_FALSE(gpu.remap_failed);
    CHECK(gpu.persistence == false);
}

TEST_CASE("nvidia-smi of two nodes, whose lines are mixed, is told apart by label", "[diagnose]") {
    const auto label = GENERATE(std::pair{"0: ", "1: "}, std::pair{"gpu-017: ", "gpu-018: "});
    const Gpus read{std::string{label.first} + "GPU 00000000:18:00.0\n" + label.second +
                    "GPU 00000000:18:00.0\n" + label.first + "    Clocks\n" + label.second +
                    "    Max Clocks\n" + label.first + "        SM   : 900 MHz\n" + label.second +
                    "        SM   : 1980 MHz\n"};

    REQUIRE(read->states().gpus.size() == 2);
    CHECK(read->states().gpus[0].host + ": " == label.first);
    CHECK(read->states().gpus[0].sm_mhz == 900);
    CHECK_FALSE(read->states().gpus[1].sm_mhz);
    CHECK(read->states().gpus[1].max_sm_mhz == 1980);
}

TEST_CASE("dcgmi diag: results with their sections and what is said of them", "[diagnose]") {
    const Dcgm read{diagnose_file("dcgm-diag-memory-fails.txt")};

    struct Row {
        const char *section, *name;
        DcgmResult result;
        const char* detail;
    };
    const std::vector<Row> rows{
        {"Deployment", "Denylist", DcgmResult::pass, ""},
        {"Deployment", "Persistence Mode", DcgmResult::fail,
         "Persistence mode for GPU 3 is disabled. Enable it by running \"nvidia-smi -i 3 -pm 1\"."},
        {"Deployment", "Error", DcgmResult::fail,
         "GPU 3 has uncorrectable memory errors and row remappings are pending"},
        {"Integration", "PCIe", DcgmResult::pass, "All"},
        {"Hardware", "GPU Memory", DcgmResult::fail, "GPU: 3"},
        {"Hardware", "Pulse Test", DcgmResult::skip, "All"},
        {"Stress", "Targeted Power", DcgmResult::warn, "GPU: 5"}};
    const auto& checks = read->report().checks;
    REQUIRE(checks.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(rows[i].name);
        CHECK(checks[i].section == rows[i].section);
        CHECK(checks[i].name == rows[i].name);
        CHECK(checks[i].result == rows[i].result);
        CHECK(checks[i].detail == rows[i].detail);
    }
    CHECK(checks[4].evidence.line == 18);
}

TEST_CASE("dcgmi dmon: each field of each GPU over time", "[diagnose]") {
    const Dcgm read{diagnose_file("dcgm-dmon-one-idle-gpu.txt")};

    const auto& fields = read->report().fields;
    REQUIRE(fields.size() == 8);
    const auto& active = *std::ranges::find_if(fields, [](const diagnose::DcgmField& field) {
        return field.entity == "GPU 0" && field.field == "SMACT";
    });
    CHECK(active.samples == 2);
    CHECK(active.least == 0.908);
    CHECK(active.most == 0.912);
    CHECK(std::abs(active.mean() - 0.91) < 1e-12);
    const auto& tensor = fields[1];
    CHECK(tensor.entity == "GPU 1");
    CHECK(tensor.field == "TENSO");
    CHECK(tensor.samples == 1);  // the other is N/A
}

TEST_CASE("ibstat: a port that is down and one at half the rate", "[diagnose]") {
    const Ports read{diagnose_file("ibstat-one-port-down-one-slow.txt")};

    const auto& ports = read->ports();
    REQUIRE(ports.size() == 3);
    CHECK(ports[0].device == "mlx5_0");
    CHECK(ports[0].port == 1);
    CHECK(ports[0].is_active());
    CHECK(ports[0].rate_gb_per_s == 400);
    CHECK(ports[0].link_layer == "InfiniBand");
    CHECK(ports[0].firmware == "28.39.1002");
    CHECK_FALSE(ports[1].is_active());
    CHECK(ports[1].physical == "Polling");
    CHECK(ports[1].evidence.line == 17);
    CHECK(ports[2].rate_gb_per_s == 200);
    CHECK(ports[2].firmware == "28.38.0900");
}

TEST_CASE("ibv_devinfo: state, link layer and MTU", "[diagnose]") {
    const Ports read{diagnose_file("ibv-devinfo-small-mtu.txt")};

    const auto& ports = read->ports();
    REQUIRE(ports.size() == 2);
    CHECK(ports[0].is_active());
    CHECK(ports[0].active_mtu == 1024);
    CHECK(ports[0].max_mtu == 4096);
    CHECK(ports[0].link_layer == "Ethernet");
    CHECK_FALSE(ports[1].is_active());
    CHECK_FALSE(ports[1].rate_gb_per_s);
}

TEST_CASE("lspci: redirection of peer traffic, and links that came up slow", "[diagnose]") {
    const Lspci read{diagnose_file("lspci-acs-on-and-downgraded.txt")};

    const auto& state = read->state();
    REQUIRE(state.acs.size() == 2);
    CHECK(state.acs[0].address == "3a:00.0");
    CHECK(state.acs[0].redirects());
    CHECK(state.acs[0].evidence.line == 4);
    CHECK(state.acs[1].source_valid);
    CHECK_FALSE(state.acs[1].redirects());
    REQUIRE(state.slow_links.size() == 1);
    CHECK(state.slow_links[0].address == "0000:3b:00.0");
    CHECK(state.slow_links[0].speed == "8GT/s");
    CHECK(state.slow_links[0].width == "x8");
    CHECK(state.slow_links[0].slower);
    CHECK(state.slow_links[0].narrower);
}

TEST_CASE("lspci that grep left only ACSCtl lines of is read too", "[diagnose][corpus]") {
    RAILHEAD_NEED_CORPUS();
    const Lspci read{railhead::test::read_corpus("nccl-log/acs-lspci-mixed.txt")};

    // INDEX.tsv: three states; redirection on is the root cause of #304, #2079 and #1086.
    const auto& acs = read->state().acs;
    REQUIRE(acs.size() == 7);
    CHECK(std::ranges::count_if(acs, &diagnose::AcsState::redirects) == 2);
    CHECK(std::ranges::count_if(acs, &diagnose::AcsState::source_valid) == 4);
}
