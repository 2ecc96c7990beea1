// Public NCCL logs.  What is expected is from the corpus' INDEX.tsv and from the files, by hand.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/nccl_logs.hpp"

namespace diagnose = railhead::diagnose;
using railhead::test::disguises;
using railhead::test::facts_of;
using railhead::test::list_corpus;
using railhead::test::read_corpus;

namespace {

struct Case {
    const char* file;
    std::vector<std::string> facts;  ///< that are to be among those of the file
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"2.10.3-opa-v100x4-4node.log",
         {"version: 2.10.3+cuda11.3 x1", "ranks 16 hosts 4 world 16 pxn 0", "network: IB x16",
          "IB devices: [0]hfi1_0:1/IB [1]hfi1_1:1/IB [2]hfi1_2:1/IB [3]hfi1_3:1/IB x16",
          "path P2P/IPC (P2P) x104", "path NET/IB (NET) x80"}},
        {"2.18-h100-vm-affinity-ignored.log",
         {"CPU affinity: ffffff,ffffffff,ffffffff x5",
          "CPU affinity: ffff,ffffffff,ffffffff,ff000000,00000000,00000000 x4",
          "ranks 9 hosts 2 world 0 pxn 0"}},
        {"2.19-modifyqp-network-unreachable-h100.log",
         {"first cause queue pair not connected", "warning queue pair not connected x1",
          "warning closed by the other side (consequence) x1",
          "warning receive failed (consequence) x1", "warning operation failed (consequence) x1",
          "warning test failed (consequence) x1"}},
        {"2.19.3-h100x8-2node-ibext-sharp.log",
         {"version: 2.19.3+cuda12.3 x1", "ranks 16 hosts 2 world 16 pxn 32", "network: IBext x16",
          "network plugin: NCCL RDMA Plugin v6 (v6) x16", "coll plugin: SHARP (v6) x16",
          "communicators of 16: 1 x29", "NVLS: available x16",
          "NCCL_TOPO_FILE=/var/run/nvidia-topologyd/virtualTopology.xml x16",
          "channels: 16 coll channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer "
          "x15"}},
        {"2.1x-err4-vendor81-gdr.log",
         {"warning completion with error 4/81 x1", "first cause completion with error"}},
        {"2.21.5-irdma-rocev2.log",
         {"version: 2.21.5+cuda12.4 x1", "IB devices: [0]irdma0:1/RoCE [1]irdma3:1/RoCE [RO] x2",
          "network: IBext_v8 x2", "first cause queue pair not connected",
          "ranks 2 hosts 2 world 2 pxn 0"}},
        {"2.27-modifyqp-110-rail-only-fabric.log",
         {"warning queue pair not connected x1", "first cause queue pair not connected"}},
        {"2.2x-gcp-a3mega-graph-multinic.log",
         {"switch 82000: 84000 85000 | 86000 87000", "link PCI 24 GB/s x9", "link NET 25 GB/s x2"}},
        {"2.2x-h200-vm-pci-0.2-graph.log",
         {"link PCI 0.2 GB/s x3", "switch 0-65000: 0-68000 | 0-67000",
          "switch 0-69000: 0-6b000 | 0-6c000", "switch 0-6d000: 0-70000 | 0-6f000"}},
        {"2.2x-single-ib-k8s-8pods.log",
         {"IB devices: [0]mlx5_0:1/IB [RO] x1", "network: IB x1", "NCCL_IB_HCA is mlx5 x1",
          "NCCL_SOCKET_IFNAME=bond1,bond0,eth0 x2", "ranks 1 hosts 1 world 8 pxn 0",
          "bootstrap interface: eth0 x1"}},
        {"2.2x-socket-fallback-bond0.log",
         {"IP interfaces: bond0 x1", "ranks 1 hosts 0 world 0 pxn 0"}},
        {"2.2x-status12-k8s-ipv6-gids-vm.log",
         {"warning completion with error 12/129 x3", "first cause completion with error"}},
        {"2.2x-status12-vendor129-then-flush249.log",
         {"warning completion with error 12/129 x1",
          "warning completion with error 5/249 (consequence) x2",
          "first cause completion with error"}},
        {"2.3-wrong-interface-lo.log",
         {"IP interfaces: lo x1", "IP interfaces: eth0 x1", "first cause connection failed",
          "ranks 3 hosts 2 world 4 pxn 0"}},
        {"2.4-dockers-shm-socket-noroute-path.log",
         {"path direct shared memory (SHM) x3", "path NET/Socket (NET) x2",
          "NCCL_NSOCKS_PERTHREAD=8 x1"}},
        {"2.4-ofi-no-optimal-provider.log",
         {"first cause no libfabric provider", "warning no libibverbs x1",
          "IP interfaces: eth0 x1"}},
        {"2.7-err12-vendor129-roce-gid.log",
         {"IB devices: [0]mlx5_0:1/RoCE x1", "warning completion with error 12/129 x2",
          "first cause completion with error"}},
        {"2.7.8-opa-megatron-interleaved.log",
         {"version: 2.7.8+cuda10.2 x1", "network: IB x64", "ranks 64 hosts 16 world 64 pxn 0",
          "bootstrap interface: ib0 ib1 x64", "path P2P/IPC (P2P) x48"}},
        {"2.7.8-opa-v100x4-16node.log",
         {"version: 2.7.8+cuda10.2 x1", "network: IB x64", "path P2P/IPC (P2P) x87",
          "path NET/IB (NET) x32", "ranks 64 hosts 16 world 0 pxn 0"}},
        {"2.8-no-device-ibv_open_device-container.log",
         {"first cause device not opened", "no IB device: No device found. x1",
          "network: Socket x1", "NCCL_IB_DISABLE=0 x2", "IP interfaces: bond0 x1"}},
        {"efa-nemo-2602-libibverbs-conflict.log",
         {"plugin trouble: libnccl-net-ofi.so: /opt/rdma-core/build/lib/libibverbs.so.1: version "
          "`IBVERBS_PRIVATE_34' not found (required by /usr/lib/x86_64-linux-gnu/libefa.so.1) x1",
          "plugin trouble: Could not find: ofi x1"}},
        {"efa-provider-list-empty.log",
         {"libfabric: fi_getinfo: provider efa output empty list x1", "version: 2.21.5+cuda12.8 x1",
          "NCCL_SOCKET_IFNAME=eth0 x1"}},
        {"gh200-slingshot-missing-ofi.log",
         {"warning network not found x2", "first cause network not found",
          "plugin trouble: Could not find: ofi libnccl-net-ofi.so. Using internal network plugin. "
          "x1"}},
        {"gib-gdr-ray-prefix-cite.log",
         {"path NET/gIB/GDRDMA (NET/GDRDMA) x2", "GDR on HCA 0 4/4 x1",
          "GDR on HCA 0 'mlx5_0' -1/-1 x1", "NCCL_NET_GDR_LEVEL=PIX x1",
          "network plugin: gIB v1.0.6 x1", "ranks 4 hosts 1 world 0 pxn 0"}},
        {"stas-good-ib-vs-fastsocket.log",
         {"other devices: FastSocket: ibs108 ibs109 ibs110 ibs111 ibs112 ibs113 ibs114 ibs115 x1",
          "IP interfaces: eth0 x1", "OOB interface: eno1 x1"}},
        {"watchdog-4ranks-seqnum.log",
         {"timeout 1132079 ALLREDUCE of 304640 to 304640 on 3 ranks"}},
        {"watchdog-reduce-scatter-node.log",
         {"timeout 1559 _REDUCE_SCATTER_BASE of 3121908768 to 32519883 on 4 ranks"}},
    };
    return all;
}

std::vector<std::string> facts_of_file(const std::string& file) {
    return facts_of(diagnose::read_nccl_log(read_corpus("nccl-log/" + file)));
}

}  // namespace

TEST_CASE("the facts of every public NCCL log are found", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    for (const Case& c : cases()) {
        const auto found = facts_of_file(c.file);
        for (const auto& fact : c.facts) {
            INFO(c.file << " lacks \"" << fact << '"');
            CHECK(std::find(found.begin(), found.end(), fact) != found.end());
        }
    }
}

TEST_CASE("no public NCCL log is without a case", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    const auto files = list_corpus("nccl-log", ".log");

    CHECK(files.size() == cases().size());
    for (const auto& file : files) {
        INFO(file);
        CHECK(std::any_of(cases().begin(), cases().end(),
                          [&](const Case& c) { return file.ends_with(c.file); }));
    }
}

TEST_CASE("healthy public logs have no warning", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    for (const char* file : {"2.10.3-opa-v100x4-4node.log", "2.19.3-h100x8-2node-ibext-sharp.log",
                             "2.7.8-opa-v100x4-16node.log", "2.7.8-opa-megatron-interleaved.log",
                             "gib-gdr-ray-prefix-cite.log"}) {
        CAPTURE(file);
        CHECK(
            diagnose::read_nccl_log(read_corpus(std::string{"nccl-log/"} + file)).warnings.empty());
    }
}

TEST_CASE("GPU 3 of the Omni-Path nodes uses NET/IB/3", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    const auto log = diagnose::read_nccl_log(read_corpus("nccl-log/2.10.3-opa-v100x4-4node.log"));

    for (const auto& rank : log.ranks) {
        if (rank.device == 3) {
            CHECK(rank.nics == 0b1000U);
        }
    }
}

TEST_CASE("lines that another program cut make no fact of their own", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    const auto log =
        diagnose::read_nccl_log(read_corpus("nccl-log/2.19.3-h100x8-2node-ibext-sharp.log"));

    CHECK(log.torn > 0);
    REQUIRE(log.paths.size() == 2);
    CHECK(log.paths[0].kind == "NET/IBext/GDRDMA");
    CHECK(log.paths[1].kind == "P2P/CUMEM");
}

TEST_CASE("the two ends of a rail-only fabric are told", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    const auto log =
        diagnose::read_nccl_log(read_corpus("nccl-log/2.27-modifyqp-110-rail-only-fabric.log"));

    REQUIRE(log.warnings.size() == 1);
    REQUIRE(log.warnings[0].links.size() == 1);
    CHECK(log.warnings[0].links[0].device == "mlx5_5:1");
    CHECK(log.warnings[0].links[0].local == "::ffff:10.20.5.11");
    CHECK(log.warnings[0].links[0].remote == "::ffff:10.20.2.17");
    CHECK(log.warnings[0].at_s == 1773440762);  // 2026-03-13 22:26:02
}

TEST_CASE("pairs of NICs that fail are told apart", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    const auto log =
        diagnose::read_nccl_log(read_corpus("nccl-log/2.2x-status12-k8s-ipv6-gids-vm.log"));

    REQUIRE(log.warnings.size() == 1);
    REQUIRE(log.warnings[0].links.size() == 2);
    CHECK(log.warnings[0].links[0].local == "fd00:0:9000:5000:4:200:3:ff22");
    CHECK(log.warnings[0].links[0].remote == "fd00:0:9000:5000:4:200:3:ff1f");
}

TEST_CASE("ranks that waited in a collective are told by number", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    const auto log = diagnose::read_nccl_log(read_corpus("nccl-log/watchdog-4ranks-seqnum.log"));

    REQUIRE(log.timeouts.size() == 1);
    CHECK(log.timeouts[0].ranks == std::vector<std::uint32_t>{1, 2, 3});  // rank 0 was absent
    CHECK(log.timeouts[0].limit_ms == 1800000);
    CHECK(log.timeouts[0].longest_ms == 1800946);
}

TEST_CASE("a public log in disguise says the same", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    for (const Case& c : cases()) {
        const auto text = read_corpus(std::string{"nccl-log/"} + c.file);
        const auto expected = facts_of(diagnose::read_nccl_log(text));
        for (const auto& disguise : disguises()) {
            for (std::uint32_t seed = 1; seed <= disguise.seeds; ++seed) {
                INFO(c.file << ": " << disguise.why << ", seed " << seed);
                CHECK(facts_of(diagnose::read_nccl_log(disguise.apply(text, seed))) == expected);
            }
        }
    }
}

TEST_CASE("a public log that is cut anywhere says nothing that the whole does not",
          "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    std::mt19937 random{20};
    for (const Case& c : cases()) {
        const auto text = read_corpus(std::string{"nccl-log/"} + c.file);
        const auto whole = diagnose::read_nccl_log(text);
        for (int i = 0; i < 40; ++i) {
            const std::size_t size = random() % (text.size() + 1);
            const auto line = size == 0 ? std::string::npos : text.rfind('\n', size - 1);
            const auto cut = diagnose::read_nccl_log(text.substr(0, size));
            const auto sure =
                diagnose::read_nccl_log(text.substr(0, line == std::string::npos ? 0 : line + 1));
            INFO(c.file << " cut to " << size << " bytes");
            CHECK(cut.paths.size() == sure.paths.size());
            CHECK(cut.communicators.size() == sure.communicators.size());
            CHECK(cut.warnings.size() <= sure.warnings.size() + 1);
            CHECK(cut.ranks.size() <= whole.ranks.size());
            for (const auto& variable : cut.variables) {
                CHECK(std::any_of(
                    whole.variables.begin(), whole.variables.end(), [&](const auto& known) {
                        return known.name == variable.name && known.value == variable.value;
                    }));
            }
        }
    }
}

TEST_CASE("a public log in pieces of any size says the same", "[corpus][nccl_log]") {
    RAILHEAD_NEED_CORPUS();
    std::mt19937 random{7};
    for (const Case& c : cases()) {
        const auto text = read_corpus(std::string{"nccl-log/"} + c.file);
        diagnose::NcclLogReader reader;
        reader.begin_file(0);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t size = 1 + random() % 700;
            reader.feed(std::string_view{text}.substr(at, size));
            at += size;
        }
        reader.end_file();
        INFO(c.file);
        CHECK(facts_of(reader.take()) == facts_of(diagnose::read_nccl_log(text)));
    }
}
