// Each rule of the diagnosis: what it finds, what looks like it and is well, and what it needs.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/diagnoses.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "support/rule_cases.hpp"
#include "support/training_logs.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::Answer;
using diagnose::Confidence;
using diagnose::Facts;
using diagnose::Finding;
using diagnose::Role;
using railhead::test::a100s;
using railhead::test::ask;
using railhead::test::facts_of;
using railhead::test::megatron_line;

namespace {

std::string info(std::string_view text, std::string_view host = "node1", int device = 0) {
    return fmt::format("{}:{}:200 [{}] NCCL INFO {}\n", host, 100 + device, device, text);
}

std::string warning(std::string_view text) {
    return fmt::format("node1:100:200 [0] misc/file.cc:212 NCCL WARN {}\n", text);
}

std::string rank_of(std::string_view host, int rank, int of, int device) {
    return info(fmt::format("comm 0x55 rank {} nranks {} cudaDev {} nvmlDev {} busId {}000 commId "
                            "0x7 - Init COMPLETE",
                            rank, of, device, device, device + 1),
                host, device);
}

/// Two nodes with two GPUs each, well in every way that a rule looks at.
std::string healthy_nccl() {
    std::string text = "NCCL version 2.21.5+cuda12.4\n";
    for (int rank = 0; rank < 4; ++rank) {
        const auto* const host = rank < 2 ? "node1" : "node2";
        const int device = rank % 2;
        text += info("NET/Plugin: Failed to find ncclNetPlugin_v9 symbol.", host, device);
        text += info("Bootstrap : Using eth0:10.1.0.1<0>", host, device);
        text += info("NET/OFI Selected Provider is efa (found 4 nics)", host, device);
        text += info("NCCL_IB_DISABLE set by environment to 0.", host, device);
        text += info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.1.0.1<0>",
                     host, device);
        text += info("Using network IB", host, device);
        text += info("+ PCI[24.0] - PCI/82000 (10b5879610b58796)", host, device);
        text += rank_of(host, rank, 4, device);
        text += info(fmt::format("Channel 00/0 : {}[{}] -> {}[{}] via P2P/CUMEM", rank, device,
                                 rank ^ 1, 1 - device),
                     host, device);
        text += info(fmt::format("Channel 00/0 : {}[{}] -> {}[{}] [send] via NET/IB/0/GDRDMA", rank,
                                 device, (rank + 2) % 4, device),
                     host, device);
    }
    return text;
}

std::string steps(const std::vector<double>& times_ms, int from = 1000) {
    std::string text;
    for (std::size_t i = 0; i < times_ms.size(); ++i) {
        text += megatron_line(from + static_cast<int>(i), times_ms[i]);
    }
    return text;
}

/// 60 steps of a second, with a little of the noise that real ones have.
std::vector<double> even() {
    std::vector<double> times;
    for (int i = 0; i < 60; ++i) {
        times.push_back(1000 + (i * 7) % 5);
    }
    return times;
}

/// Steps that lose a tenth of the time, at even distances or not.
std::vector<double> with_stalls(const std::vector<std::size_t>& places) {
    auto times = even();
    for (const auto place : places) {
        times[place] = 2500;
    }
    return times;
}

std::vector<double> slower_from(std::size_t from, double factor) {
    auto times = even();
    for (auto i = from; i < times.size(); ++i) {
        times[i] *= factor;
    }
    return times;
}

std::vector<double> creeping(double share) {
    std::vector<double> times;
    for (int i = 0; i < 200; ++i) {
        times.push_back((1000 + (i * 7) % 5) * (1 + share * i / 199));
    }
    return times;
}

std::string arguments(const std::vector<std::pair<std::string, std::string>>& values) {
    std::string text = "------------------------ arguments ------------------------\n";
    for (const auto& [name, value] : values) {
        text += fmt::format("  {} {} {}\n", name, std::string(40 - name.size(), '.'), value);
    }
    return text + "-------------------- end of arguments ---------------------\n";
}

std::string run_with(const std::vector<std::pair<std::string, std::string>>& values) {
    return arguments(values) + steps(even());
}

/// A pipeline with this many micro-batches: 256 sequences over 8 replicas.
std::string pipeline(int stages, int micro_batch) {
    return run_with({{"world_size", std::to_string(8 * stages)},
                     {"tensor_model_parallel_size", "1"},
                     {"pipeline_model_parallel_size", std::to_string(stages)},
                     {"global_batch_size", "256"},
                     {"micro_batch_size", std::to_string(micro_batch)}});
}

std::string losses(const std::vector<double>& values) {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
        text += megatron_line(1000 + static_cast<int>(i), 1000, values[i]);
    }
    return text;
}

std::string with_loss(std::string_view loss) {
    return " iteration 1001/  100000 | consumed samples: 256 | elapsed time per iteration (ms): "
           "1000.0 | global batch size:   256 | lm loss: " +
           std::string{loss} +
           " | number of skipped iterations:   0 | number of nan iterations:   0 |\n";
}

std::string skipping(int each) {
    std::string text;
    for (int i = 0; i < 50; ++i) {
        text += fmt::format(
            " iteration {}/  100000 | consumed samples: 256 | elapsed time per "
            "iteration (ms): 1000.0 | global batch size:   256 | lm loss: 2.5 | "
            "number of skipped iterations:   {} | number of nan iterations:   0 |\n",
            1000 + i, i % 25 == 0 ? each * 25 : 0);
    }
    return text;
}

struct Row {
    double mib, us, busbw;
    int wrong = 0;
};

/// A table of all_reduce_perf on this many nodes with a GPU each.
std::string table(const std::vector<Row>& rows, int hosts = 2, std::string_view device = "A100") {
    std::string text =
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5\n";
    for (int rank = 0; rank < std::max(hosts, 2); ++rank) {
        text += fmt::format("#  Rank {:2} Group  0 Pid {} on node{} device  {} [0x07] NVIDIA {}\n",
                            rank, 100 + rank, rank % hosts, rank / hosts, device);
    }
    text +=
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
        "time   algbw   busbw #wrong\n";
    for (const auto& row : rows) {
        const double bytes = row.mib * 1024 * 1024;
        text += fmt::format(
            "{:.0f} {:.0f} float sum -1 {:.2f} {:.2f} {:.2f} {} {:.2f} {:.2f} {:.2f} "
            "{}\n",
            bytes, bytes / 4, row.us, row.busbw / 2, row.busbw, row.wrong, row.us, row.busbw / 2,
            row.busbw, row.wrong);
    }
    return text;
}

std::vector<Row> small_rows(double us) {
    return {{8.0 / 1048576, us, 0}, {1.0 / 1024, us, 0}, {4.0 / 1024, us, 0.1}};
}

enum class Hardware { none, a100s };

/// One text, what a rule has to answer, and why.
struct Case {
    std::string rule;
    Answer expected;
    std::string text;
    std::string because;
    Hardware hardware = Hardware::none;
};

std::vector<Case> cases_of_warnings() {
    const auto completion = [](int status) {
        return warning(
            fmt::format("NET/IB : Got completion from peer 10.0.0.2<1> with status={} "
                        "opcode=0 len=0 vendor err 129 (Recv)",
                        status));
    };
    using enum Answer;
    return {
        {"nic-not-opened", found, warning("Call to ibv_open_device failed"), "as it is told"},
        {"no-provider", found, warning("NET/OFI Could not find any optimal provider"), "as told"},
        {"no-provider", found,
         healthy_nccl() + "libfabric:85:17:core:core:fi_getinfo_():1392<warn> fi_getinfo: provider "
                          "efa output empty list\n",
         "libfabric tells it in a line of its own"},
        {"no-network", found, warning("Error: network AWS Libfabric not found."), "as told"},
        {"no-libibverbs", found, warning("Failed to open libibverbs.so[.1]"), "as told"},
        {"no-interface", found, warning("Bootstrap : no socket interface found"), "as told"},
        {"unconnected-nics", found,
         warning("Call to ibv_modify_qp failed with error Connection timed out"), "as told"},
        {"unconnected-nics", not_found, completion(12), "another call failed"},
        {"memory-protection", found, completion(4), "local protection error"},
        {"memory-protection", not_found, completion(12), "no answer is no protection error"},
        {"retry-exceeded", found, completion(12), "retries exceeded"},
        {"retry-exceeded", not_found, completion(5), "a flush only follows from something"},
        {"port-event", found, warning("NET/IB : mlx5_0:1 Got async event : port error"), "as told"},
        {"shared-memory", found,
         warning("Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)"),
         "as told"},
        {"duplicate-gpu", found,
         warning("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000"),
         "as told"},
        {"ranks-differ", found, warning("Mismatched NCCL version detected : local 2.18"),
         "as told"},
        {"cuda-failure", found, warning("Cuda failure 'an illegal memory access'"), "as told"},
        {"nccl-verbs", found, warning("Call to ibv_reg_mr failed"), "as told"},
        {"nccl-connect", found, warning("Call to connect timeout : Connection refused"), "as told"},
        {"nccl-connect", not_found, warning("socketProgress: Connection closed by remote peer"),
         "the other side went away: a consequence"},
        {"nccl-warning", found, warning("Something that nobody has seen before"), "unknown text"},
        {"collective-timeout", found,
         "[E ProcessGroupNCCL.cpp:457] [Rank 1] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=3, NumelOut=3, Timeout(ms)=1800000) ran for "
         "1800035 milliseconds before timing out.\n",
         "a watchdog"},
    };
}

std::vector<Case> cases_of_networks() {
    const auto two = [](std::string_view one, std::string_view other) {
        return info(one, "node1") + info(other, "node2");
    };
    const auto ranks = [](std::string_view path, bool isolated) {
        std::string text;
        for (int rank = 0; rank < 2; ++rank) {
            text += fmt::format("node1:{}:9 [{}] NCCL INFO Channel 00 : {}[0] -> {}[0] via {}\n",
                                100 + rank, isolated ? 0 : rank, rank, 1 - rank, path);
        }
        return text;
    };
    using enum Answer;
    return {
        {"rdma-disabled", found, info("NCCL_IB_DISABLE set by environment to 1."), "RDMA is off"},
        {"plugin-trouble", found,
         info("NET/Plugin: libnccl-net-ofi.so: /opt/lib/libibverbs.so.1: version "
              "`IBVERBS_PRIVATE_34' "
              "not found (required by /usr/lib/libefa.so.1)"),
         "two releases of a library"},
        {"plugin-trouble", not_found,
         info("NET/Plugin : No plugin found (libnccl-net.so), using internal implementation"),
         "nobody asked for one"},
        {"wrong-interface", found, info("NET/Socket : Using [0]lo:127.0.0.1<0>"), "loopback"},
        {"wrong-interface", not_found, info("Bootstrap : Using [0]lowan0:10.0.0.1<0>"),
         "a name that only begins so"},
        {"no-ib-device", found, info("NET/IB : No device found."), "as told"},
        {"socket-fallback", found, two("Using network Socket", "Using network Socket"), "as told"},
        {"socket-fallback", found, info("NET/Socket : Using [0]bond0:10.6.184.2<0>"),
         "nothing else is told of a network"},
        {"socket-fallback", not_found,
         info("Using network Socket") + rank_of("node1", 0, 2, 0) + rank_of("node1", 1, 2, 1),
         "one node needs no network"},
        {"socket-fallback", not_found,
         info("NET/FastSocket : Using [0]ibs108:10.1.0.12<0> [1]ibs109:10.1.0.13<0>"),
         "a fabric's own network"},
        {"gdr-off", found,
         info("Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0") + info("Using network IB"),
         "through the host's memory"},
        {"gdr-off", not_found,
         info("NET/IB : Using [0]hfi1_0:1/IB ; OOB ib0:10.1.0.41<0>") +
             info("Channel 00 : 0[0] -> 1[0] [send] via NET/IB/0"),
         "Omni-Path has none"},
        {"rail-mismatch", found,
         two("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
             "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.2<0>"),
         "a node lacks one"},
        {"rail-mismatch", not_found,
         two("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
             "NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.2<0>"),
         "another order is the same set"},
        {"rail-mismatch", found,
         two("NET/IB : Using [0]mlx5_2:1/IB [1]mlx5_3:1/IB [RO]; OOB eth0:10.0.0.1<0>",
             "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.2<0>"),
         "as many of other names: advice"},
        {"prefix-match", found,
         info("NCCL_SOCKET_IFNAME set by environment to bond0") +
             info("NET/Socket : Using [0]bond0:10.0.0.1<0> [1]bond0.2093.1:10.9.0.1<0>"),
         "a VLAN of it"},
        {"prefix-match", found,
         info("NCCL_IB_HCA set by environment to mlx5_1,mlx5_2") +
             info("NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_10:1/IB [RO]; OOB eth0:10.0.0.1<0>"),
         "mlx5_10 begins so"},
        {"prefix-match", not_found,
         info("NCCL_SOCKET_IFNAME set by environment to =bond0") +
             info("NET/Socket : Using [0]bond0:10.0.0.1<0>"),
         "exact"},
        {"prefix-match", not_found,
         info("NCCL_IB_HCA set by environment to mlx5") +
             info("NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_10:1/IB [RO]; OOB eth0:10.0.0.1<0>"),
         "all of them were meant"},
        {"prefix-match", unknown, info("NCCL_SOCKET_IFNAME set by environment to bond0"),
         "no device is told"},
        {"missing-rail", found,
         info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>"),
         "two of eight", Hardware::a100s},
        {"missing-rail", not_found,
         info(
             "NET/IB : Using [0]a:1/IB [1]b:1/IB [2]c:1/IB [3]d:1/IB [4]e:1/IB [5]f:1/IB [6]g:1/IB "
             "[7]h:1/IB [RO]; OOB eth0:10.0.0.1<0>"),
         "all eight", Hardware::a100s},
        {"mixed-links", found,
         info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_bond_0:1/RoCE [RO]; OOB "
              "eth0:10.0.0.1<0>"),
         "one is RoCE"},
        {"gpu-isolation", found, ranks("SHM/direct/direct", true), "all have device 0"},
        {"gpu-isolation", not_found, ranks("SHM/direct/direct", false), "each its own device"},
        {"p2p-off", found, info("NCCL_P2P_DISABLE set by environment to 1."), "as told"},
        {"p2p-off", found, ranks("SHM/direct/direct", false), "A100s have NVLink", Hardware::a100s},
        {"p2p-off", Answer::unknown, ranks("SHM/direct/direct", false), "GPUs may have no NVLink"},
        {"mixed-versions", found,
         "node1:1:1 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
         "node2:1:1 [0] NCCL INFO NCCL version 2.18.3+cuda12.2\n",
         "two releases"},
        {"virtual-pci", found, info("+ PCI[0.2] - PCI/0-65000 (104c823200000000)"), "0.2 GB/s"},
    };
}

std::vector<Case> cases_of_tables() {
    using enum Answer;
    const auto dip = std::vector<Row>{{128, 900, 180}, {512, 9000, 60}};
    return {
        {"wrong-results", found, table({{128, 900, 180, 3}}), "#wrong counts"},
        {"wrong-results", not_found, table({{128, 900, 180}}), "none is wrong"},
        {"slow-network", found, table({{1024, 9000, 60}}), "60 of 188 GB/s", Hardware::a100s},
        {"slow-network", not_found, table({{1024, 9000, 170}}), "90 %", Hardware::a100s},
        {"slow-network", unknown, table({{1024, 9000, 60}}), "which NICs is not said"},
        {"slow-network", unknown, table(small_rows(30)), "no large size", Hardware::a100s},
        {"no-nvlink", found, table({{1024, 9000, 12}}, 1), "12 GB/s on one node"},
        {"no-nvlink", not_found, table({{1024, 9000, 230}}, 1), "as published of A100s"},
        {"no-nvlink", not_found, table({{1024, 9000, 230}}, 1, "L40S"), "no NVLink there"},
        {"high-latency", found, table(small_rows(390)), "ten times as long as usual"},
        {"high-latency", not_found, table(small_rows(161)), "as on AWS p4d"},
        {"bandwidth-dip", found, table(dip), "a third of the smaller size"},
        {"bandwidth-dip", not_found, table({{128, 900, 180}, {512, 3000, 170}}), "noise"},
    };
}

std::vector<Case> cases_of_steps() {
    using enum Answer;
    const auto saves = [](int wait_s) {
        return steps({1000, 1001, 1002, 1000, 1001, 1002}) +
               "[2025-12-19 10:00:00] saving checkpoint at iteration      1005 to /ckpt\n" +
               fmt::format(
                   "[2025-12-19 10:00:{:02}] successfully saved checkpoint at iteration "
                   "1005 to /ckpt\n",
                   wait_s) +
               steps(std::vector<double>(600, 1000), 1006);
    };
    const std::string clock = "[2025-01-01 10:00:00]";
    return {
        {"slow-part", found, steps(slower_from(30, 1.06)), "6 % longer, and stays so"},
        {"slow-part", not_found, steps(slower_from(30, 0.94)), "it became faster"},
        {"slow-part", not_found, steps(even()), "noise"},
        {"slow-part", unknown, steps({1000}), "one step is none to compare with"},
        {"checkpoint-stall", found, saves(40), "40 s of 646 s"},
        {"checkpoint-stall", not_found, saves(2), "0.3 % of the time"},
        {"checkpoint-stall", unknown, steps(even()), "none is told of"},
        {"periodic-stall", found, steps(with_stalls({9, 19, 29, 39, 49, 59})), "one in ten"},
        {"periodic-stall", not_found, steps(even()), "noise"},
        {"slowing-down", found, steps(creeping(0.08)), "8 % over the log"},
        {"slowing-down", not_found, steps(creeping(0)), "no trend"},
        {"slow-steps", found, steps(with_stalls({9, 12, 31})), "no pattern"},
        {"slow-steps", not_found, steps(even()), "noise"},
        {"slow-steps", unknown, steps({1000, 1000, 1033, 1000}), "one of four is no pattern"},
        {"hang", found, clock + steps({1000}) + "[2025-01-01 11:00:00] still here\n", "an hour"},
        {"hang", not_found, clock + steps({1000}) + "[2025-01-01 10:00:05] still here\n",
         "five seconds"},
        {"hang", unknown,
         steps({1000, 1000, 1000}) + " validation loss at iteration 1002 | lm loss "
                                     "value: 2.3 |\n",
         "without a clock the log may just end there"},
        {"nan", found, with_loss("nan") + with_loss("nan"), "no number"},
        {"nan", not_found, with_loss("2.5"), "a number"},
        {"loss-spike", found,
         losses({2.5, 2.5, 2.49, 2.5, 2.5, 2.48, 2.5, 7.3, 8.7, 7.6, 7.2, 7.0, 6.9}),
         "three times as high, and stays"},
        {"loss-spike", not_found, losses({2.5, 2.6, 2.4, 2.5, 2.7, 2.4, 2.5, 2.6}), "noise"},
        {"skipped-iterations", found, skipping(1), "every one"},
        {"skipped-iterations", not_found, skipping(0), "none"},
        {"skipped-iterations", unknown, steps({}), "no log"},
    };
}

std::vector<Case> cases_of_layouts() {
    using enum Answer;
    return {
        {"tp-across-nodes", found, run_with({{"tensor_model_parallel_size", "16"}}),
         "16 on nodes of 8", Hardware::a100s},
        {"tp-across-nodes", not_found, run_with({{"tensor_model_parallel_size", "8"}}),
         "8 on nodes of 8", Hardware::a100s},
        {"tp-across-nodes", unknown, run_with({{"tensor_model_parallel_size", "16"}}),
         "how large a node is, is not said"},
        {"pipeline-bubble", found, pipeline(8, 4), "7 of 8 + 7"},
        {"pipeline-bubble", not_found, pipeline(4, 1), "3 of 32 + 3 is less than a tenth"},
        {"pipeline-bubble", unknown, run_with({{"pipeline_model_parallel_size", "8"}}),
         "no micro-batches are told"},
        {"full-recompute", found, run_with({{"recompute_granularity", "full"}}), "as told"},
        {"full-recompute", not_found,
         run_with({{"recompute_granularity", "selective"}, {"world_size", "8"}}), "selective"},
    };
}

/// One computing kernel, one of NCCL and one wait for samples in a step of a millisecond.
std::string trace(int compute_us, int nccl_us, int loader_us) {
    return fmt::format(
        R"({{"deviceProperties": [{{"id": 0}}], "traceEvents": [
{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 1, "ts": 0, "dur": 1000}},
{{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pid": 1, "ts": 0, "dur": {}}},
{{"ph": "X", "cat": "kernel", "name": "nvjet_hsh_128x256_64x4", "pid": 0, "ts": 0, "dur": {}}},
{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "ts": {}, "dur": {}}}
]}})",
        loader_us, compute_us, compute_us, nccl_us);
}

std::vector<Case> cases_of_nodes() {
    const auto data = [](std::string_view name) {
        return railhead::test::read(fmt::format("diagnose/{}", name));
    };
    const auto kernel = [](std::string_view message) {
        return fmt::format("Aug 30 11:43:09 gpu-020 kernel: {}\n", message);
    };
    const auto well = data("kernel-healthy.log");
    const auto gpus = data("nvidia-smi-healthy.txt");
    using enum Answer;
    return {
        {"xid", found, data("kernel-gpu-fell-off-the-bus.log"), "Xid 79"},
        {"xid", not_found, well, "no Xid"},
        {"nvswitch-error", found, data("kernel-gpu-fell-off-the-bus.log"), "SXid 20034, fatal"},
        {"nvswitch-error", not_found,
         kernel("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 19084, Non-fatal, Link 29 AN1"),
         "not fatal"},
        {"pcie-error", found, data("kernel-memory-and-pcie.log"), "uncorrected, fatal"},
        {"pcie-error", not_found, kernel("pcieport 0000:3a:00.0: AER: enabled with IRQ 42"),
         "it is only turned on"},
        {"machine-check", found, data("kernel-memory-and-pcie.log"), "machine check, UE"},
        {"machine-check", not_found, kernel("EDAC MC0: 1 CE memory read error on DIMM#0"),
         "corrected"},
        {"host-memory", found, data("kernel-memory-and-pcie.log"), "killed for memory"},
        {"host-memory", not_found, well, "nobody was killed"},
        {"link-flap", found, data("kernel-links-and-storage.log"), "down and up"},
        {"link-flap", not_found, kernel("mlx5_core 0000:86:00.0 ens3f0np0: Link up") + well,
         "up at the start"},
        {"storage-gone", found, data("kernel-links-and-storage.log"), "evicted"},
        {"storage-gone", not_found, kernel("Lustre: Mounted lustre-client"), "mounted"},
        {"gpu-throttle", found, data("nvidia-smi-hot-narrow-bad-memory.txt"), "hot"},
        {"gpu-throttle", not_found, gpus, "at full clocks"},
        {"gpu-memory-error", found, data("nvidia-smi-hot-narrow-bad-memory.txt"), "rows"},
        {"gpu-memory-error", not_found, gpus, "no errors"},
        {"narrow-pcie", found, data("nvidia-smi-hot-narrow-bad-memory.txt"), "x8"},
        {"narrow-pcie", not_found, gpus, "x16"},
        {"dcgm-failed", found, data("dcgm-diag-memory-fails.txt"), "as told"},
        {"dcgm-failed", not_found,
         "| Diagnostic                | Result                       |\n"
         "| PCIe                      | Pass - All                   |\n"
         "| Targeted Power            | Warn - GPU: 5                |\n",
         "a warning is no failure"},
        {"acs", found, data("lspci-acs-on-and-downgraded.txt"), "requests are redirected"},
        {"acs", not_found,
         "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- "
         "DirectTrans-\n",
         "SrcValid alone redirects nothing"},
        {"port-down", found, data("ibstat-one-port-down-one-slow.txt"), "mlx5_1 polls"},
        {"port-down", not_found,
         "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: "
         "LinkUp\n",
         "active"},
        {"gpu-out-of-memory", found, data("traceback-one-rank-out-of-gpu-memory.log"), "as told"},
        {"gpu-out-of-memory", not_found, data("traceback-loader-killed-for-memory.log"),
         "the host's memory"},
        {"rank-failed", found, data("traceback-loader-killed-for-memory.log"), "a loader died"},
        {"rank-failed", not_found, steps(even()), "no rank failed"},
        {"nccl-ras", found, data("ras-one-process-dead.txt"), "a process is dead"},
        {"loader-bound", found, trace(900, 100, 150), "15 % of the step"},
        {"loader-bound", not_found, trace(900, 100, 20), "2 %"},
        {"exposed-communication", found, trace(700, 300, 0), "30 %"},
        {"exposed-communication", not_found, trace(900, 100, 0), "10 %"},
        {"gpu-idle", found, trace(500, 100, 0), "40 %"},
        {"gpu-idle", not_found, trace(900, 100, 0), "nothing"},
    };
}

std::vector<Case> all_cases() {
    std::vector<Case> all;
    for (const auto& part : {cases_of_warnings(), cases_of_networks(), cases_of_tables(),
                             cases_of_steps(), cases_of_layouts(), cases_of_nodes()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    for (const auto& rule : {diagnose::nccl_error_rules(), diagnose::nccl_network_rules(),
                             diagnose::nccl_path_rules()}) {
        for (const auto& one : rule) {
            if (one.id != "missing-rail") {  // needs to know how many there should be
                all.push_back({std::string{one.id}, Answer::not_found, healthy_nccl(),
                               "two nodes that are well"});
            }
        }
    }
    return all;
}

/// A run of Llama 2 7B on 8 A100s whose steps of 256 x 4096 tokens take so long.
Finding ask_of_mfu(std::string_view rule, double step_ms) {
    auto given = a100s(8);
    given.mfu.shape =
        **railhead::training::find_model(railhead::training::built_in_catalogue(), "llama-2-7b");
    given.mfu.shape_from = "the test";
    return ask(rule, facts_of({steps(std::vector<double>(20, step_ms))}, given));
}

}  // namespace

TEST_CASE("a rule finds what it looks for, and nothing in what only looks like it", "[diagnose]") {
    for (const auto& c : all_cases()) {
        CAPTURE(c.rule, c.because);
        const auto given = c.hardware == Hardware::a100s ? a100s(128) : diagnose::Given{};
        const auto finding = ask(c.rule, facts_of({c.text}, given));
        CHECK(name_of(finding.answer) == name_of(c.expected));
        if (finding.answer == Answer::found) {
            CHECK_FALSE(finding.what.empty());
            CHECK_FALSE(finding.evidence.empty());
            CHECK_FALSE(finding.fix.empty());
            CHECK_FALSE(finding.expected.empty());
        }
        CHECK((finding.answer == Answer::unknown) == !finding.missing.empty());
    }
}

TEST_CASE("the MFU is judged by what is published of the GPU", "[diagnose]") {
    // 42.9e9 FLOP a token (6 x 6.48e9 parameters without those looked up, and attention) x
    // 1,048,576 tokens in 36 s on 8 x 312 TFLOP/s: 50 %.
    CHECK(ask_of_mfu("low-mfu", 36'000).answer == Answer::not_found);
    CHECK(ask_of_mfu("low-mfu", 90'000).answer == Answer::found);
    CHECK(ask_of_mfu("impossible-mfu", 36'000).answer == Answer::not_found);
    CHECK(ask_of_mfu("impossible-mfu", 12'000).answer == Answer::found);
}

TEST_CASE("the ranks that are absent from a collective are named from flight records",
          "[diagnose]") {
    const auto waits = railhead::test::read("diagnose/flight-recorder-rank-0-waits.json");
    const auto absent = railhead::test::read("diagnose/flight-recorder-rank-1-absent.json");
    const auto of = [](const std::string& one, const std::string& other) {
        diagnose::Intake intake{{}};
        for (const auto& [name, text] : {std::pair{"trace_0", one}, std::pair{"trace_1", other}}) {
            intake.begin_file(name);
            intake.feed(text);
            intake.end_file();
        }
        return ask("absent-rank", intake.take());
    };
    CHECK_THAT(of(waits, absent).what, ContainsSubstring("others wait: 1"));
    CHECK(of(waits, waits).answer == Answer::not_found);
}

TEST_CASE("every rule has a case that it finds and one that is well", "[diagnose]") {
    // In tests of their own: they need a model, several files, or a job that runs well.
    std::set<std::string> apart = {"low-mfu", "impossible-mfu", "absent-rank", "nccl-ras"};
    for (const auto part : {diagnose::setting_rules(), diagnose::gradient_rules()}) {
        for (const auto& rule : part) {
            apart.insert(std::string{rule.id});  // diagnose_settings_test.cpp
        }
    }
    std::set<std::string> positive = apart;
    std::set<std::string> healthy = apart;
    for (const auto& c : all_cases()) {
        (c.expected == Answer::found ? positive : healthy).insert(c.rule);
    }
    for (const auto& c : railhead::test::record_rule_cases()) {
        if (c.expected != Answer::unknown) {
            (c.expected == Answer::found ? positive : healthy).insert(c.rule);
        }
    }
    std::set<std::string> ids;
    for (const auto& rule : diagnose::all_rules()) {
        CAPTURE(rule.id);
        CHECK(ids.insert(std::string{rule.id}).second);
        CHECK(positive.contains(std::string{rule.id}));
        CHECK(healthy.contains(std::string{rule.id}));
    }
}

TEST_CASE("docs: the guide has every rule, with what it looks for", "[docs][diagnose]") {
    const auto guide = railhead::read_file(railhead::test::checkout("docs/diagnosis.md")).value();
    for (const auto& rule : diagnose::all_rules()) {
        CAPTURE(rule.id);
        CHECK_THAT(guide, ContainsSubstring(fmt::format("| `{}` | {} | {} |", rule.id,
                                                        rule.looks_for, rule.why)));
    }
}

TEST_CASE("a rule without its input says what it needs", "[diagnose]") {
    const Facts nothing;
    for (const auto& rule : diagnose::all_rules()) {
        CAPTURE(rule.id);
        const auto finding = rule.check(nothing);
        CHECK(finding.answer == Answer::unknown);
        CHECK_FALSE(finding.missing.empty());
    }
}

TEST_CASE("what a rule explains is a rule", "[diagnose]") {
    for (const auto& rule : diagnose::all_rules()) {
        for (const auto id : rule.explains) {
            CAPTURE(rule.id, id);
            CHECK_NOTHROW(railhead::test::rule_of(id));
            CHECK(id != rule.id);
        }
    }
}

TEST_CASE("NICs that cannot be connected are told apart by their addresses", "[diagnose]") {
    const auto failing = [](std::string_view remote) {
        return facts_of({warning(fmt::format(
            "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_5:1, curr "
            "state INIT, next state RTR, local GID index 3, local GID ::ffff:10.20.5.11, remote "
            "GID "
            "{}",
            remote))});
    };
    const auto across = ask("unconnected-nics", failing("::ffff:10.20.2.17"));
    CHECK(across.role == Role::cause);
    CHECK(across.fix.front() == "NCCL_CROSS_NIC=0");

    const auto within = ask("unconnected-nics", failing("::ffff:10.20.5.17"));
    CHECK(within.role == Role::symptom);
}

TEST_CASE("a GID index is at fault only where no address can be routed", "[diagnose]") {
    const std::string roce = info("NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.1.0.11<0>");
    const std::string old =
        warning("NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129");
    const std::string routed = warning(
        "NET/IB : Got completion from peer 10.2.143.59<44206> with status=12 opcode=129 len=65536 "
        "vendor err 129 (Recv) localGid ::ffff:10.3.88.182 remoteGids::ffff:10.3.4.221");

    CHECK(ask("retry-exceeded", facts_of({roce + old})).role == Role::cause);
    CHECK(ask("retry-exceeded", facts_of({roce + routed})).role == Role::symptom);
    CHECK(ask("retry-exceeded", facts_of({old})).role == Role::symptom);
}

TEST_CASE("the rank that is absent is named where most others are there", "[diagnose]") {
    const auto waiting = [](const std::vector<int>& ranks, std::string_view sizes) {
        std::string text;
        for (const int rank : ranks) {
            text += fmt::format(
                "[E ProcessGroupNCCL.cpp:457] [Rank {}] Watchdog caught collective operation "
                "timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, {}, Timeout(ms)=1800000) ran for "
                "1800035 milliseconds before timing out.\n",
                rank, sizes);
        }
        return ask("collective-timeout", facts_of({text})).what;
    };
    CHECK_THAT(waiting({0, 1, 3}, "NumelIn=8, NumelOut=8"), ContainsSubstring("Suspect rank 2:"));
    CHECK_THAT(waiting({5, 6}, "NumelIn=960, NumelOut=10"), ContainsSubstring("2 of 96 ranks"));
    CHECK_THAT(waiting({5, 6}, "NumelIn=960, NumelOut=10"), !ContainsSubstring("Suspect"));
}

TEST_CASE("a loss that is back at once is advice, and one that stays is a symptom", "[diagnose]") {
    auto values = std::vector<double>(40, 2.5);
    values[20] = 7;
    values[21] = 6;
    CHECK(ask("loss-spike", facts_of({losses(values)})).role == Role::advice);
    std::fill(values.begin() + 20, values.end(), 7);
    CHECK(ask("loss-spike", facts_of({losses(values)})).role == Role::symptom);
}
