// NCCL logs made by hand: each names what is special about it.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "diagnose/kind.hpp"
#include "diagnose/nccl_log.hpp"
#include "support/catch.hpp"
#include "support/nccl_logs.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::NcclTopic;
using diagnose::PathClass;
using diagnose::read_nccl_log;
using diagnose::WarningKind;
using railhead::test::facts_of;

namespace {

constexpr std::string_view info = "n1:100:120 [3] NCCL INFO ";

std::string said(std::string_view log, NcclTopic topic) {
    const auto read = read_nccl_log(log);
    const auto all = read.all_said(topic);
    return all.size() == 1 ? all[0]->value : fmt::format("{} values", all.size());
}

diagnose::NcclWarning warning_of(std::string_view text) {
    const auto log = read_nccl_log(fmt::format("n1:100:120 [3] net_ib.cc:1 NCCL WARN {}\n", text));
    REQUIRE(log.warnings.size() == 1);
    return log.warnings[0];
}

}  // namespace

TEST_CASE("a rank is found behind whatever stands before it", "[nccl_log]") {
    const std::vector<std::string> before{
        "",                                               // NCCL_DEBUG_FILE
        "  17: ",                                         // srun --label
        "[rank12]:",                                      // torchrun
        "[default3]:",                                    // torchrun --tee
        "[1,7]<stdout>:",                                 // mpirun --tag-output
        "\x1b[36m(Worker pid=90, ip=10.1.0.17)\x1b[0m ",  // Ray
        "(Worker pid=90, ip=10.1.0.17) [0m ",             // Ray, the escape character lost
        "\x1b[33m",                                       // coloured
        "2025-05-16T16:39:51.208-07:00 | ",               // CloudWatch
        "2025-05-16T16:39:51.2Z stderr F ",               // a log of Kubernetes
        "[pod/train-0/main] ",                            // kubectl logs --prefix
        "[2026-03-13 22:26:02] ",                         // NCCL 2.27
        "epoch 3 | ",                                     // a line that had no end
    };
    for (const auto& lead : before) {
        const auto log = read_nccl_log(lead + std::string{info} + "Using network IB\n");

        CAPTURE(lead);
        REQUIRE(log.ranks.size() == 1);
        CHECK(log.hosts.at(log.ranks[0].host) == "n1");
        CHECK(log.ranks[0].pid == 100);
        CHECK(log.ranks[0].device == 3);
        CHECK(log.all_said(NcclTopic::network).at(0)->value == "IB");
    }
}

TEST_CASE("evidence has its file and line, and the line as it stands there", "[nccl_log]") {
    const auto log = read_nccl_log(
        "step 1\n\n\x1b[31m" + std::string{info} + "NET/IB : No device found.\x1b[0m\r\n", 7);

    const auto& first = log.sayings.at(0).first;
    CHECK(first.file == 7);
    CHECK(first.line == 3);
    CHECK(first.text == "n1:100:120 [3] NCCL INFO NET/IB : No device found.");
}

TEST_CASE("the release is told in all the ways that it is printed", "[nccl_log]") {
    CHECK(said("NCCL version 2.4.8+cuda10.1\n", NcclTopic::version) == "2.4.8+cuda10.1");
    CHECK(said("0: NCCL version 2.30.3+cuda13.0\n", NcclTopic::version) == "2.30.3+cuda13.0");
    CHECK(said(std::string{info} + "NCCL version 2.28.3+cuda12.9\n", NcclTopic::version) ==
          "2.28.3+cuda12.9");
    CHECK(said("NCCL version 2.7.8+cuda10.2NCCL version 2.7.8+cuda10.2\n", NcclTopic::version) ==
          "2.7.8+cuda10.2");
    CHECK(said("NCCL version 2.7.8+cuda10.2n1:100:120 [3] NCCL INFO Using network IB\n",
               NcclTopic::version) == "2.7.8+cuda10.2");
}

TEST_CASE("records that are glued to each other are told apart", "[nccl_log]") {
    const auto log = read_nccl_log(
        "n1:100:120 [3] NCCL INFO Using network IB\n"
        "n2:100:120 [0] NCCL INFO Using network IBn1:100:121 [3] NCCL INFO Connected all rings"
        "n2:100:120 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n");

    CHECK(log.glued == 2);
    CHECK(log.ranks.size() == 2);  // "IBn1" is n1, which is known to have this process
    CHECK(log.all_said(NcclTopic::bootstrap).at(0)->value == "eth0");
}

TEST_CASE("a record that is broken over two lines is put together", "[nccl_log]") {
    const std::string broken = GENERATE(
        "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]ml\n"
        "x5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n",
        "  4: n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n"
        "  4:  [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n");

    const auto log = read_nccl_log(broken);

    CHECK(log.joined == 1);
    CHECK(log.all_said(NcclTopic::ib_devices).at(0)->value == "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]");
    CHECK(log.all_said(NcclTopic::ib_devices).at(0)->first.line == 1);
}

TEST_CASE("a list of devices is not joined with a line that is none", "[nccl_log]") {
    const auto log = read_nccl_log(
        "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n iteration 1/ 10 | lm loss: 2.0\n");

    CHECK(log.joined == 0);
    CHECK(log.all_said(NcclTopic::ib_devices).at(0)->value == "[0]mlx5_0:1/IB");
}

TEST_CASE("paths of every release are classed", "[nccl_log]") {
    struct Case {
        const char* text;
        const char* kind;
        PathClass path;
    };
    const auto c = GENERATE(values<Case>({
        {"Ring 00 : 2[0] -> 3[0] via direct shared memory", "direct shared memory",
         PathClass::shm},                                                             // 2.4
        {"Ring 00 : 15 -> 0 [send] via NET/Socket/0", "NET/Socket", PathClass::net},  // 2.4
        {"Channel 00 : 0[1a000] -> 1[1c000] via P2P/IPC", "P2P/IPC", PathClass::p2p},
        {"Channel 01 : 0[1a000] -> 1[1c000] via direct shared memory", "direct shared memory",
         PathClass::shm},
        {"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "P2P/CUMEM/read", PathClass::p2p},
        {"Channel 00/0 : 0[0] -> 5[5] via P2P/indirect/3[3]", "P2P/indirect", PathClass::p2p},
        {"Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct", "SHM/direct/direct", PathClass::shm},
        {"Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA/Shared", "NET/IB/GDRDMA",
         PathClass::net_gdr},
        {"Channel 00/0 : 8[0] -> 0[0] [send] via NET/IBext_v8/3(11)", "NET/IBext_v8",
         PathClass::net},
        {"Channel 00/0 : 8[0] -> 0[0] [send] via NET/AWS Libfabric/3/GDRDMA",
         "NET/AWS Libfabric/GDRDMA", PathClass::net_gdr},
        {"CollNet 00/0 : 12 [send] via COLLNET/SHARP/0/GDRDMA", "COLLNET/SHARP/GDRDMA",
         PathClass::collnet},
    }));
    CAPTURE(c.text);

    const auto log = read_nccl_log(std::string{info} + c.text + "\n");

    REQUIRE(log.paths.size() == 1);
    CHECK(log.paths[0].kind == c.kind);
    CHECK(log.paths[0].path == c.path);
    CHECK(log.ranks.at(0).connections(c.path) == 1);
}

TEST_CASE("the NICs of a rank are known, and those of its neighbours", "[nccl_log]") {
    const auto log = read_nccl_log(
        "n1:1:2 [3] NCCL INFO Channel 00/0 : 3[3] -> 8[3] [send] via NET/IB/3/GDRDMA\n"
        "n1:1:2 [3] NCCL INFO Channel 01/0 : 3[3] -> 8[3] [send] via NET/IB/5(5)/GDRDMA\n");

    CHECK(log.ranks.at(0).nics == ((1U << 3U) | (1U << 5U)));
    CHECK(log.ranks.at(0).pxn == 1);
}

TEST_CASE("members of rings are no connections", "[nccl_log]") {
    const auto log = read_nccl_log(
        "n1:1:2 [0] NCCL INFO Channel 00/04 :    0   1   2   3\n"
        "n1:1:2 [0] NCCL INFO Channel 00 :    0   1   2   3\n"
        "n1:1:2 [0] NCCL INFO Ring 00 : 7 -> 0 -> 1\n");

    CHECK(log.paths.empty());
    CHECK(log.torn == 0);
}

TEST_CASE("a rank is known by its largest communicator", "[nccl_log]") {
    const auto log = read_nccl_log(
        "n1:1:2 [3] NCCL INFO ncclCommInitRank comm 0x1 rank 3 nranks 4 cudaDev 0 nvmlDev 3 busId "
        "ab000 commId 0x11 - Init START\n"
        "n1:1:2 [3] NCCL INFO ncclCommInitRank comm 0x1 rank 11 nranks 16 cudaDev 0 nvmlDev 3 "
        "busId ab000 commId 0x12 - Init COMPLETE\n"
        "n1:1:2 [3] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 0 busId ab000 - Init COMPLETE\n"
        "n1:1:2 [3] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 0 busId ab000 - Destroy COMPLETE\n");

    const auto& rank = log.ranks.at(0);
    CHECK(rank.rank == 11);
    CHECK(rank.of == 16);
    CHECK(rank.nvml_device == 3);
    CHECK(rank.bus_id == 0xab000U);
    CHECK(rank.started == 1);
    CHECK(rank.completed == 2);
    REQUIRE(log.communicators.size() == 3);
    CHECK(log.world() == 16);
    CHECK(log.communicators[0].count == 1);
    CHECK(log.absent_ranks().size() == 15);
}

TEST_CASE("GPUDirect RDMA is told with its distance", "[nccl_log]") {
    const auto log = read_nccl_log(std::string{info} +
                                   "GPU Direct RDMA Disabled for GPU 3 / HCA 1 (distance 8 > 5)\n" +
                                   std::string{info} +
                                   "NET/IB : GPU Direct RDMA Enabled for GPU 3 / HCA 0 (distance 4 "
                                   "<= 5), read 0 mode Default\n");

    REQUIRE(log.gdr.size() == 2);
    CHECK_FALSE(log.gdr[0].enabled);
    CHECK(log.gdr[0].hca == "1");
    CHECK(log.gdr[0].distance == 8);
    CHECK(log.gdr[0].limit == 5);
    CHECK(log.gdr[1].enabled);
}

TEST_CASE("variables are told with their origin", "[nccl_log]") {
    const auto log =
        read_nccl_log(std::string{info} + "NCCL_NET set by environment to AWS Libfabric\n" +
                      std::string{info} + "NCCL_IB_GID_INDEX set by environment to 3.\n" +
                      std::string{info} + "NCCL_IB_HCA set to mlx5\n");

    REQUIRE(log.variables.size() == 3);
    CHECK(log.variables[0].value == "AWS Libfabric");
    CHECK(log.variables[1].value == "3");
    CHECK(log.variables[1].from_environment);
    CHECK_FALSE(log.variables[2].from_environment);
}

TEST_CASE("the time that communicators take is known from 2.20 on", "[nccl_log]") {
    const auto log = read_nccl_log(std::string{info} +
                                   "Init timings - ncclCommInitRank: rank 3 nranks 8 total 1.97 "
                                   "(kernels 0.18, alloc 1.02, bootstrap 0.05)\n");

    CHECK_THAT(log.ranks.at(0).init_s, Catch::Matchers::WithinAbs(1.97, 1e-6));
    CHECK(log.slowest_init.value().line == 1);
}

TEST_CASE("warnings are of their kind", "[nccl_log]") {
    struct Case {
        const char* text;
        WarningKind kind;
        bool is_consequence;
    };
    const auto c = GENERATE(values<Case>({
        {"NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
         WarningKind::completion, false},
        {"NET/IB : Got completion from peer 10.0.0.1<4> with status=5 opcode=9 len=0 vendor err "
         "249",
         WarningKind::completion, true},
        {"NET/IB : mlx5_0:1 Got async event : port error", WarningKind::port_event, false},
        {"Call to ibv_modify_qp failed with error Connection timed out", WarningKind::modify_qp,
         false},
        {"Call to ibv_reg_mr failed", WarningKind::verbs, false},
        {"Call to ibv_open_device failed", WarningKind::open_device, false},
        {"Failed to open libibverbs.so[.1]", WarningKind::no_verbs, false},
        {"NET/OFI Could not find any optimal provider", WarningKind::provider, false},
        {"Error: network AWS Libfabric not found.", WarningKind::no_network, false},
        {"Bootstrap : no socket interface found", WarningKind::no_interface, false},
        {"Call to connect to 10.0.0.1<4> failed : Connection refused", WarningKind::connect, false},
        {"Cuda failure 'out of memory'", WarningKind::cuda, false},
        {"Error while creating shared memory segment /dev/shm/nccl-a (size 9637888)",
         WarningKind::shared_memory, false},
        {"Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000",
         WarningKind::duplicate_gpu, false},
        {"Mismatched collective detected", WarningKind::version_clash, false},
        {"Missing \"iommu=pt\" from kernel command line", WarningKind::host_setting, false},
        {"socketProgress: Connection closed by remote peer n2<5>", WarningKind::remote_closed,
         true},
        {"Socket recv failed while polling for opId=0x7f", WarningKind::receive_failed, true},
        {"[Proxy Service 1] Failed to execute operation Connect from rank 1, retcode 2",
         WarningKind::proxy_failed, true},
        {"something that no release says", WarningKind::other, false},
    }));
    CAPTURE(c.text);

    const auto warning = warning_of(c.text);

    CHECK(warning.kind == c.kind);
    CHECK(warning.is_consequence() == c.is_consequence);
}

TEST_CASE("a retry that was exceeded is told from the flush after it", "[nccl_log]") {
    const auto log = read_nccl_log(
        "n1:1:2 [0] net.cc:9 NCCL WARN Socket recv failed while polling for opId=0x1\n"
        "n1:1:2 [0] ib.c:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.1<4> with status=12 "
        "opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.2\n"
        "n1:1:2 [0] ib.c:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<5> with status=12 "
        "opcode=3 len=77 vendor err 129 (Send) localGid ::ffff:10.1.0.1 remoteGids::ffff:10.1.0.3\n"
        "n1:1:2 [0] ib.c:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.1<4> with status=5 "
        "opcode=0 len=0 vendor err 249 (Recv)\n");

    REQUIRE(log.warnings.size() == 3);
    CHECK(log.warnings[1].status == 12);
    CHECK(log.warnings[1].vendor_error == 129);
    CHECK(log.warnings[1].lines == 2);
    CHECK(log.warnings[1].links.size() == 2);
    CHECK(log.warnings[2].is_flush());
    CHECK(log.first_cause() == &log.warnings[1]);
    CHECK(log.ranks.at(0).first_warning == 0);
    CHECK(log.ranks.at(0).warnings == 4);
}

TEST_CASE("the first cause is the first by time where lines have one", "[nccl_log]") {
    const auto log = read_nccl_log(
        "[2026-03-13 22:26:09] n1:1:2 [0] a.cc:1 NCCL WARN Call to ibv_reg_mr failed\n"
        "[2026-03-13 22:26:02] n2:1:2 [0] a.cc:1 NCCL WARN Cuda failure 'out of memory'\n");

    CHECK(log.first_cause()->kind == WarningKind::cuda);
}

TEST_CASE("watchdogs of later releases name their group", "[nccl_log]") {
    const auto log = read_nccl_log(
        "[rank5]:[E1103 20:51:09.12 ProcessGroupNCCL.cpp:616] [PG ID 2 PG GUID 3(tp) Rank 5] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
        "OpType=ALLGATHER, NumelIn=8, NumelOut=64, Timeout(ms)=600000) ran for 600012 "
        "milliseconds before timing out.\n");

    REQUIRE(log.timeouts.size() == 1);
    CHECK(log.timeouts[0].group == "2 PG GUID 3(tp)");
    CHECK(log.timeouts[0].ranks == std::vector<std::uint32_t>{5});
    CHECK(log.timeouts[0].operation == "ALLGATHER");
}

TEST_CASE("what Ray leaves out is known to be left out", "[nccl_log]") {
    const auto log =
        read_nccl_log(std::string{info} + "Using network IB [repeated 7x across cluster]\n");

    CHECK(log.deduplicated);
    CHECK(log.all_said(NcclTopic::network).at(0)->value == "IB");
}

TEST_CASE("several files are one log, and lines count in each", "[nccl_log]") {
    diagnose::NcclLogReader reader;
    for (std::uint32_t file = 0; file < 3; ++file) {
        reader.begin_file(file);
        reader.feed(fmt::format("\nn{}:1:2 [0] NCCL INFO Using network {}\n", file,
                                file == 2 ? "Socket" : "IB"));
        reader.end_file();
    }
    const auto log = reader.take();

    REQUIRE(log.ranks.size() == 3);
    const auto networks = log.all_said(NcclTopic::network);
    REQUIRE(networks.size() == 2);
    CHECK(networks[0]->lines == 2);
    CHECK(log.ranks_that_said(*networks[1]) == 1);
    CHECK(networks[1]->first.file == 2);
    CHECK(networks[1]->first.line == 2);
}

TEST_CASE("what is kept does not grow with the log", "[nccl_log]") {
    std::mt19937 random{3};
    diagnose::NcclLogReader reader;
    reader.begin_file(0);
    for (int i = 0; i < 20'000; ++i) {
        const auto noise = random();
        reader.feed(fmt::format(
            "n1:1:2 [0] a.cc:1 NCCL WARN word{} {}\n"
            "n1:1:2 [0] NCCL INFO NCCL_X{} set by environment to {}\n"
            "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via Q{}/x\n",
            noise, std::string(noise % 9, 'z'), noise, noise, std::string(i % 3000, 'A')));
    }
    reader.end_file();
    const auto log = reader.take();

    CHECK(log.variables.size() <= 1024);
    CHECK(log.paths.size() <= 1024);
    CHECK(log.warnings.size() <= 1024);
    CHECK(log.left_out > 0);
}

TEST_CASE("a line without end is not kept whole", "[nccl_log]") {
    diagnose::NcclLogReader reader;
    reader.begin_file(0);
    reader.feed(std::string{info} + "Using network IB ");
    for (int i = 0; i < 200; ++i) {
        reader.feed(std::string(10'000, 'x'));
    }
    reader.feed("\n" + std::string{info} + "Using network Socket\n");
    reader.end_file();
    const auto log = reader.take();

    CHECK(log.lines == 2);
    CHECK(log.all_said(NcclTopic::network).size() == 2);
    CHECK(log.all_said(NcclTopic::network)[0]->value.size() <= 2 * diagnose::evidence_limit);
}

TEST_CASE("evidence is cut at a whole character and shows no control character", "[evidence]") {
    std::string text(239, 'a');
    text += "é and more";

    const auto cut = diagnose::make_evidence(1, 2, text);

    CHECK(cut.text == std::string(239, 'a') + "…");
    CHECK(diagnose::make_evidence(0, 1, " a\x07\x1b[31mb ").text == "a?b");
    diagnose::Sources sources;
    CHECK(sources.add("a.log") == 0);
    CHECK(sources.add("b.log") == 1);
    CHECK(sources.add("a.log") == 0);
    CHECK(place_of(sources, cut) == "b.log:2");
    CHECK(place_of(sources, {0, 0, ""}) == "a.log");
}

TEST_CASE("the kind of a file is told from its content", "[evidence]") {
    using diagnose::FileKind;
    using diagnose::guess_kind;
    CHECK(guess_kind("\n7: n1:1:2 [0] NCCL INFO Using network IB\n") == FileKind::nccl_log);
    CHECK(guess_kind("NCCL version 2.21.5+cuda12.4\n") == FileKind::nccl_log);
    CHECK(guess_kind("# nThread 1 nGpus 8 minBytes 8\n") == FileKind::nccl_tests);
    CHECK(guess_kind("#!/bin/bash\n#SBATCH -N 2\n") == FileKind::batch_script);
    CHECK(guess_kind("[Mon] NVRM: Xid (PCI:0000:1b:00): 79\n") == FileKind::kernel_log);
    CHECK(guess_kind("nothing that is known\n") == FileKind::unknown);
    CHECK(guess_kind("") == FileKind::unknown);
    CHECK(diagnose::is_job_output(FileKind::watchdog));
    CHECK_FALSE(diagnose::is_job_output(FileKind::lspci));
    for (auto kind = FileKind::unknown; kind < FileKind::count_;
         kind = static_cast<FileKind>(static_cast<int>(kind) + 1)) {
        CHECK_FALSE(diagnose::name_of(kind).empty());
    }
}
