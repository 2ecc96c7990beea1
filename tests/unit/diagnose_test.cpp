// The verdict over files: causes before consequences, where the time goes, two runs compared, and
// what is said of public logs.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "diagnose/baseline.hpp"
#include "diagnose/waterfall.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/corpus.hpp"
#include "support/diagnoses.hpp"
#include "support/nccl_logs.hpp"
#include "support/temp_dir.hpp"
#include "support/training_logs.hpp"

namespace diagnose = railhead::diagnose;
using Catch::Matchers::WithinAbs;
using diagnose::Diagnosis;
using diagnose::Facts;
using diagnose::Verdict;
using nlohmann::json;
using railhead::test::a100s;
using railhead::test::facts_of;
using railhead::test::megatron_line;
using railhead::test::Ran;
using railhead::test::TempDir;

namespace {

/// Keeps the rules that its findings point to.
struct Diagnosed {
    std::vector<diagnose::Rule> rules = diagnose::all_rules();
    Facts facts;
    Diagnosis diagnosis;
    explicit Diagnosed(Facts from) : facts{std::move(from)} {
        diagnosis = diagnose::diagnose(facts, rules);
    }
};

std::string steps(int count, double step_ms, int from = 1000) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += megatron_line(from + i, step_ms + (i * 7) % 5);
    }
    return text;
}

Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), "diagnose");
    return railhead::test::run(words);
}

std::string ids_of(const Diagnosis& diagnosis) {
    std::string ids;
    for (const auto* finding : diagnosis.with(diagnose::Answer::found)) {
        ids += (ids.empty() ? "" : " ") + std::string{finding->rule->id};
        if (!finding->consequence_of.empty()) {
            ids += "<" + std::string{finding->consequence_of};
        }
    }
    return ids;
}

/// A model and a GPU, so that there is an MFU.
diagnose::Given llama() {
    auto given = a100s(8);
    given.mfu.shape =
        **railhead::training::find_model(railhead::training::built_in_catalogue(), "llama-2-7b");
    given.mfu.shape_from = "the test";
    return given;
}

struct Expected {
    const char* file;
    const char* verdict;
    const char* findings;
    const char* because;
};

/// By hand, from what was written about each when it was collected.
const std::vector<Expected>& public_logs() {
    static const std::vector<Expected> all = {
        {"train-log/bloom-176b-slow-gpu-drop.log", "cause found", "slow-part", "one slow GPU"},
        {"train-log/bloom-176b-hang-at-eval.log", "cause not determined", "hang",
         "no line after the first validation"},
        {"train-log/bloom-176b-steady.log", "healthy", "loss-spike", "a spike that came back"},
        {"train-log/tr1-13b-ms-nan.log", "cause not determined", "loss-spike", "at 29050"},
        {"train-log/nemo-train-step-timing.log", "healthy", "", "two steps of 12.87, one of 13.04"},
        {"train-log/aws-fsdp-speed.log", "healthy", "", "batch 0 is warm-up"},
        {"train-log/meg-ds-zero-52b-v100.log", "healthy", "", "its first iterations"},
        {"train-log/mlperf-sd-mllog.log", "healthy", "", "nothing is said to be wrong"},
        {"train-log/torchtitan-one-step.log", "too little to tell", "", "one step"},
        {"train-log/mbridge-llama31-glued-line.log", "too little to tell", "", "one step"},
        {"train-log/mbridge-mtp-extra-losses.log", "too little to tell", "", "one step"},
        {"train-log/deepspeed-flops-profiler.txt", "too little to tell", "",
         "a profile of one step"},
        {"train-log/torchtitan-benchmarks-h100.md", "nothing to go by", "", "tables, no log"},
        // Only an average is in it, which is no ground for a verdict.
        {"nccl-tests/a100-2node-no-gdr-33GBs.txt", "too little to tell", "", "a footer only"},
        {"nccl-tests/a3high-tcpx-2node-allgather.txt", "healthy", "", "as usual of A3 High"},
        {"nccl-tests/a3mega-tcpxo-2node-allgather.txt", "healthy", "", "188 GB/s"},
        {"nccl-tests/b200-2rank-1node-nvlink.txt", "healthy", "", "NVLink"},
        {"nccl-tests/batch-mpi-tag-trailing-blanks.txt", "healthy", "", "peak 483"},
        {"nccl-tests/dgxa100-2node-8B-start.txt", "healthy", "", "peak 188, average 53.7"},
        {"nccl-tests/eks-mpi-tag-output.txt", "healthy", "", "peak 437"},
        {"nccl-tests/gb300-elided-rows.txt", "healthy", "", "peak 936"},
        {"nccl-tests/gh200-2rank-unalign-format.txt", "healthy", "", "one Slingshot NIC"},
        {"nccl-tests/h100-2node-container-slow.txt", "cause found", "high-latency",
         "300 to 500 us"},
        {"nccl-tests/h200-2rank-1nic-gib-allgather.txt", "healthy", "", "one rail"},
        {"nccl-tests/nccl1-all_reduce_test-2016.txt", "nothing to go by", "", "NCCL 1's format"},
        {"nccl-tests/p4d-2node-srun-label.txt", "healthy", "", "78 GB/s on p4d"},
        {"nccl-tests/roce-2node-old-format.txt", "healthy", "", "peak 22.9"},
        {"nccl-tests/superbench-allgather.log", "healthy", "", "one node"},
        {"nccl-tests/superbench-reducescatter.log", "healthy", "", "one node"},
        {"nccl-log/2.10.3-opa-v100x4-4node.log", "healthy", "", "healthy"},
        {"nccl-log/2.18-h100-vm-affinity-ignored.log", "too little to tell", "", "masks alone"},
        {"nccl-log/2.19-modifyqp-network-unreachable-h100.log", "cause found", "unconnected-nics",
         "no route for the GID; the rest follows"},
        {"nccl-log/2.19.3-h100x8-2node-ibext-sharp.log", "healthy", "", "healthy"},
        {"nccl-log/2.1x-err4-vendor81-gdr.log", "cause found", "memory-protection",
         "memory registration"},
        {"nccl-log/2.21.5-irdma-rocev2.log", "cause not determined", "unconnected-nics",
         "peers not reachable, cause not read"},
        {"nccl-log/2.27-modifyqp-110-rail-only-fabric.log", "cause found", "unconnected-nics",
         "rail-only fabric"},
        {"nccl-log/2.2x-gcp-a3mega-graph-multinic.log", "too little to tell", "", "a graph alone"},
        {"nccl-log/2.2x-h200-vm-pci-0.2-graph.log", "too little to tell", "virtual-pci",
         "a false figure of the VM"},
        {"nccl-log/2.2x-single-ib-k8s-8pods.log", "too little to tell", "",
         "one pod of eight: that they share a node is not in it"},
        {"nccl-log/2.2x-socket-fallback-bond0.log", "cause not determined", "socket-fallback",
         "one line is all there is"},
        {"nccl-log/2.2x-status12-k8s-ipv6-gids-vm.log", "cause not determined", "retry-exceeded",
         "cause not stated"},
        {"nccl-log/2.2x-status12-vendor129-then-flush249.log", "cause not determined",
         "retry-exceeded", "cause not stated; the flushes follow"},
        {"nccl-log/2.3-wrong-interface-lo.log", "cause found",
         "wrong-interface nccl-connect<wrong-interface socket-fallback<wrong-interface", "lo"},
        {"nccl-log/2.4-dockers-shm-socket-noroute-path.log", "cause found",
         "gpu-isolation socket-fallback", "one GPU a process; sockets between nodes"},
        {"nccl-log/2.4-ofi-no-optimal-provider.log", "cause found",
         "no-provider no-libibverbs<no-provider socket-fallback<no-provider",
         "the real error is libfabric's"},
        {"nccl-log/2.7-err12-vendor129-roce-gid.log", "cause found", "retry-exceeded", "RoCE GID"},
        {"nccl-log/2.7.8-opa-megatron-interleaved.log", "healthy", "", "many communicators"},
        {"nccl-log/2.7.8-opa-v100x4-16node.log", "healthy", "", "healthy"},
        {"nccl-log/2.8-no-device-ibv_open_device-container.log", "cause found",
         "nic-not-opened no-ib-device<nic-not-opened socket-fallback<nic-not-opened",
         "the container cannot open /dev/infiniband"},
        {"nccl-log/acs-lspci-mixed.txt", "cause found", "acs", "some ports redirect"},
        {"nccl-log/cpu-no-p2p-isolated-cgroup.md", "nothing to go by", "", "a description, no log"},
        {"nccl-log/efa-nemo-2602-libibverbs-conflict.log", "cause found", "plugin-trouble",
         "two releases of libibverbs"},
        {"nccl-log/efa-provider-list-empty.log", "cause found", "no-provider",
         "the provider sees no device"},
        {"nccl-log/gh200-slingshot-missing-ofi.log", "cause found",
         "no-network plugin-trouble<no-network", "NCCL_NET_PLUGIN wins over NCCL_NET"},
        {"nccl-log/gib-gdr-ray-prefix-cite.log", "healthy", "", "healthy"},
        {"nccl-log/stas-good-ib-vs-fastsocket.log", "cause found", "mixed-links socket-fallback",
         "four jobs in one file: line 4 has a storage NIC, line 3 fell back"},
        {"nccl-log/watchdog-4ranks-seqnum.log", "cause not determined", "collective-timeout",
         "rank 0 is silent"},
        {"nccl-log/watchdog-reduce-scatter-node.log", "cause not determined", "collective-timeout",
         "one node of 96 ranks reports"},
    };
    return all;
}

}  // namespace

TEST_CASE("what follows from a cause comes after it and names it", "[diagnose]") {
    const Diagnosed d{
        facts_of({"n:1:1 [0] NCCL INFO NET/Socket : Using [0]bond0:10.5.93.2<0>\n"
                  "n:1:1 [0] NCCL INFO NET/IB : No device found.\n"
                  "n:1:1 [0] a.cc:1 NCCL WARN Call to ibv_open_device failed\n"})};

    CHECK(d.diagnosis.verdict == Verdict::cause_found);
    CHECK(ids_of(d.diagnosis) ==
          "nic-not-opened no-ib-device<nic-not-opened socket-fallback<nic-not-opened");
}

TEST_CASE("a few lines without a fault are not called healthy", "[diagnose]") {
    CHECK(Diagnosed{facts_of({steps(1, 1000)})}.diagnosis.verdict == Verdict::too_little);
    CHECK(Diagnosed{facts_of({steps(30, 1000)})}.diagnosis.verdict == Verdict::healthy);
    CHECK(Diagnosed{facts_of({"hello\n"})}.diagnosis.verdict == Verdict::nothing_to_see);
}

TEST_CASE("the bars from the peak down to the MFU add up", "[diagnose]") {
    for (const double slower : {1.0, 1.06, 1.5, 4.0}) {
        CAPTURE(slower);
        const Diagnosed d{
            facts_of({steps(30, 36'000) + steps(30, 36'000 * slower, 1030)}, llama())};

        const auto fall = diagnose::make_waterfall(d.facts, d.diagnosis);

        REQUIRE(fall);
        double sum = fall->mfu;
        for (const auto& bar : fall->bars) {
            CHECK(bar.share >= 0);
            sum += bar.share;
        }
        CHECK_THAT(sum, WithinAbs(1, 1e-12));
        const auto& whole = *d.facts.training.front().mfu;
        CHECK_THAT(fall->mfu,
                   WithinAbs(whole.utilization.mfu * d.facts.training.front().summary.time.median /
                                 (36.0 * slower),
                             0.002));
        CHECK(fall->bars.back().what == "unexplained");
        CHECK(fall->bars.front().what == "no matmul reaches the peak");
        CHECK((fall->bars.size() > 2) == (slower > 1));
    }
}

TEST_CASE("without an MFU there is no waterfall, and what it needs is told", "[diagnose]") {
    const Diagnosed d{facts_of({steps(30, 1000)})};

    CHECK_FALSE(diagnose::make_waterfall(d.facts, d.diagnosis));
    CHECK_FALSE(d.facts.training.front().mfu_needs.empty());
}

TEST_CASE("two runs are compared part by part", "[diagnose]") {
    const auto before = facts_of({steps(40, 1000)});
    const auto now = facts_of({steps(20, 1100) + "  saving checkpoint at iteration   1019 to /c\n" +
                               megatron_line(1020, 5102) + steps(19, 1100, 1021)});

    const auto about = diagnose::compare(before.training.front(), now.training.front()).value();

    // The usual step: 1002 ms became 1102; one of 40 steps took 4 s more.
    REQUIRE(about.parts.size() == 4);
    CHECK_THAT(about.parts[0].share, WithinAbs(0.1, 0.002));
    CHECK_THAT(about.parts[3].share, WithinAbs(4.0 / 40, 0.002));
    double sum = 0;
    for (const auto& part : about.parts) {
        sum += part.share;
    }
    CHECK_THAT(sum, WithinAbs(about.change(), 1e-12));
}

TEST_CASE("each training log is looked at, not the longest alone", "[diagnose]") {
    const auto well = steps(90, 1000);
    const auto slow = steps(30, 1000) + steps(30, 1100, 1030);
    const Diagnosed two{facts_of({well, slow})};

    CHECK(two.diagnosis.verdict == Verdict::cause_found);
    const auto& first = two.diagnosis.findings.front();
    CHECK(first.rule->id == "slow-part");
    CHECK(first.evidence.front().file == 1);
    // Both are slow: one finding has the lines of both.
    const Diagnosed both{facts_of({slow, slow})};
    CHECK(ids_of(both.diagnosis) == "slow-part");
    CHECK(both.diagnosis.findings.front().evidence.size() == 2);
    // One has too few steps: it is named, and nothing is called healthy.
    CHECK(Diagnosed{facts_of({well, steps(1, 1000)})}.diagnosis.verdict == Verdict::too_little);
    const TempDir folder;
    const auto ran = run({folder.write("a.log", well), folder.write("b.log", steps(1, 1000))});
    CHECK_THAT(ran.out, ContainsSubstring("fewer than three timed steps"));
}

TEST_CASE("a baseline sees a drop in less than half of the steps", "[diagnose]") {
    const auto before = facts_of({steps(60, 1000)});
    const auto now = facts_of({steps(40, 1000) + steps(20, 1300, 1040)});

    const auto about = diagnose::compare(before.training.front(), now.training.front()).value();

    CHECK_THAT(about.change(), WithinAbs(0.1, 0.002));  // 20 of 60 steps take 30 % more
}

TEST_CASE("steps of unlike batches are compared by their tokens", "[diagnose]") {
    auto twice = steps(40, 2200);
    for (std::size_t at = 0; (at = twice.find("size:   256", at)) != std::string::npos; ++at) {
        twice.replace(at, 11, "size:   512");
    }
    const auto before = facts_of({steps(40, 1000)});
    const auto now = facts_of({twice});

    const auto about = diagnose::compare(before.training.front(), now.training.front()).value();

    // 2.2 s for 512 sequences are 1.1 s for 256.
    CHECK(about.tokens_before == 256.0);
    CHECK(about.tokens_now == 512.0);
    CHECK_THAT(about.change(), WithinAbs(0.1, 0.002));
    const TempDir folder;
    const auto ran = run({folder.write("now.log", twice), "--baseline",
                          folder.write("before.log", steps(40, 1000))});
    CHECK_THAT(ran.out, ContainsSubstring("of unlike size, 256 before and 512 now"));
}

TEST_CASE("a baseline needs a run to compare with it", "[diagnose]") {
    const TempDir folder;
    const auto ran = run({"--mfu", "22", "--gpus", "8", "--accelerator", "a100", "--baseline",
                          folder.write("well.log", steps(30, 1000))});

    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, ContainsSubstring("--baseline compares"));
}

TEST_CASE("mfu and diagnose tell one MFU of a log, by one convention", "[diagnose][report]") {
    const TempDir folder;
    const auto log = folder.write("run.log", steps(40, 36'000) + steps(20, 39'000, 1040));
    const std::vector<std::string> words = {log, "--accelerator", "a100",       "--gpus",
                                            "8", "--model",       "llama-2-7b", "--json"};
    auto of_mfu = words;
    of_mfu.insert(of_mfu.begin(), "mfu");

    const auto mfu = json::parse(railhead::test::run(of_mfu).out)["answer"];
    const auto fall = json::parse(run(words).out)["waterfall"];

    CHECK(fall["convention"] == mfu["convention"]);
    CHECK_THAT(fall["mfu_of_all"].get<double>(), WithinAbs(mfu["mfu"].get<double>(), 1e-9));
    CHECK(fall["mfu"].get<double>() < fall["mfu_of_all"].get<double>());
}

TEST_CASE("no MFU is promised of a run that cannot be", "[diagnose]") {
    const Diagnosed d{facts_of({steps(30, 1000) + steps(30, 1100, 1030)}, llama())};

    REQUIRE(d.facts.training.front().mfu->utilization.mfu > 1);
    for (const auto* finding : d.diagnosis.with(diagnose::Answer::found)) {
        CAPTURE(finding->rule->id);
        CHECK(finding->expected.find('(') == std::string::npos);
    }
}

TEST_CASE("a log that is cut is named and not called healthy", "[diagnose]") {
    const TempDir folder;
    const auto packed = folder.path() + "/well.log.gz";
    auto* const file = ::gzopen(packed.c_str(), "wb");
    REQUIRE(file != nullptr);
    const auto text = steps(3000, 1000);
    ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose(file);
    std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);

    const auto ran = run({packed, "--json"});

    const auto document = json::parse(ran.out);
    CHECK(document["verdict"] == "too little to tell");
    CHECK_THAT(document["files"][0]["trouble"].get<std::string>(), ContainsSubstring("cut"));
    CHECK(ran.err.find("<fd:") == std::string::npos);
    CHECK_THAT(run({packed}).out, ContainsSubstring("only a part of it"));
}

TEST_CASE("the exit status tells healthy, found and unreadable apart", "[diagnose]") {
    const TempDir folder;
    const auto well = folder.write("well.log", steps(30, 1000));
    const auto slow = folder.write("slow.log", steps(30, 1000) + steps(30, 1100, 1030));
    const auto notes = folder.write("notes.txt", "buy milk\n");

    CHECK(run({well}).status == 0);
    CHECK(run({slow}).status == 1);
    CHECK(run({notes}).status == 2);
    CHECK(run({notes + ".gone"}).status == 2);
    CHECK(run({well, "--baseline", notes}).status == 2);
    CHECK(run({well, "--mfu", "22"}).status == 2);
    CHECK_THAT(run({well, notes}).out, ContainsSubstring("of no kind that is known"));
    CHECK_THAT(run({slow, "--baseline", well}).out, ContainsSubstring("the usual step"));
}

TEST_CASE("a diagnosis as JSON has the findings of the text, which fits 80 columns",
          "[diagnose][report]") {
    const TempDir folder;
    const auto slow = folder.write("slow.log", steps(30, 36'000) + steps(30, 40'000, 1030));
    const std::vector<std::string> words = {slow, "--accelerator", "a100",      "--gpus",
                                            "8",  "--model",       "llama-2-7b"};
    auto with_json = words;
    with_json.emplace_back("--json");

    const auto text = run(words);
    const auto document = json::parse(run(with_json).out);

    CHECK(document["schema"] == "railhead.diagnose/1");
    CHECK(document["verdict"] == "cause found");
    CHECK(document["findings"][0]["id"] == "slow-part");
    CHECK(document["findings"][0]["evidence"][0]["line"] == 31);
    CHECK(document["waterfall"]["bars"].size() == 3);
    for (const auto line : railhead::split(text.out, '\n')) {
        CAPTURE(line);
        CHECK(railhead::report::columns(line) <= 80);
    }
    for (const auto& finding : document["findings"]) {
        CHECK_THAT(text.out, ContainsSubstring("(" + finding["id"].get<std::string>() + ")"));
    }
}

TEST_CASE("public logs get the verdict that is known of them", "[diagnose][corpus]") {
    RAILHEAD_NEED_CORPUS();
    std::size_t files = 0;
    for (const auto* folder : {"nccl-log", "nccl-tests", "train-log"}) {
        files += railhead::test::list_corpus(folder, "").size();
    }
    CHECK(files == public_logs().size());
    for (const auto& one : public_logs()) {
        CAPTURE(one.file, one.because);
        const Diagnosed d{facts_of({railhead::test::read_corpus(one.file)})};
        CHECK(std::string{name_of(d.diagnosis.verdict)} == one.verdict);
        CHECK(ids_of(d.diagnosis) == one.findings);
    }
}

// What users reported, in the lines that they gave: the corpus' bug-reports that ask something of a
// diagnosis.
TEST_CASE("reports of users get the answer that they ask for", "[diagnose]") {
    const auto info = [](std::string_view host, int pid, int device, std::string_view text) {
        return fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", host, pid, pid + 200, device, text);
    };
    const auto using_ib = [](std::string_view devices) {
        return fmt::format("NET/IB : Using {} [RO]; OOB eno1np0:10.1.0.6<0>", devices);
    };
    struct Report {
        const char* number;
        std::string text;
        const char* rule;
        const char* role;
        const char* says;
    };
    const std::vector<Report> reports = {
        {"01, --gpus-per-task hides peers",
         info("node6", 1080641, 0, "Channel 00 : 0[0] -> 1[0] via SHM/direct/direct") +
             info("node6", 1080642, 0, "Channel 00 : 1[0] -> 0[0] via SHM/direct/direct"),
         "gpu-isolation", "cause", "--gpus-per-node=N --gpu-bind=none"},
        {"01 and 20, a RoCE port for management among IB rails",
         info("node6", 1080641, 0, using_ib("[0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/RoCE")),
         "mixed-links", "cause", "NCCL_IB_HCA=^mlx5_2"},
        {"19, a VLAN is taken along",
         info("a1", 10, 0, "NCCL_SOCKET_IFNAME set by environment to bond0") +
             info("a1", 10, 0, "NET/Socket : Using [0]bond0:10.0.0.1<0> [1]bond0.2093:10.9.0.1<0>"),
         "prefix-match", "advice", "NCCL_SOCKET_IFNAME==bond0"},
        {"20, NICs have other names on another node",
         info("master", 10, 0, using_ib("[0]mlx5_2:1/IB [1]mlx5_3:1/IB")) +
             info("worker", 11, 0, using_ib("[0]mlx5_0:1/IB [1]mlx5_1:1/IB")),
         "rail-mismatch", "advice", "railhead rails --compare"},
        {"23, a VM's PCIe speeds", info("vm", 10, 0, "+ PCI[0.2] - PCI/0-65000 (104c823200000000)"),
         "virtual-pci", "advice", "NCCL_TOPO_FILE"},
        {"41, two releases of libibverbs",
         info("c1", 10, 0,
              "NET/Plugin: libnccl-net-ofi.so: /opt/lib/libibverbs.so.1: version "
              "`IBVERBS_PRIVATE_34' not found (required by /usr/lib/libefa.so.1)") +
             info("c1", 10, 0, "Using network Socket"),
         "plugin-trouble", "cause", "LD_LIBRARY_PATH"},
        {"42, one slow GPU", steps(30, 105'200) + steps(30, 111'100, 1030), "slow-part", "cause",
         "a fixed GEMM on each GPU"},
        {"56, ranks are gone, the others wait",
         "[2022-05-04 10:00:00]" + steps(1, 1000) + "[2022-05-04 11:00:00] still here\n", "hang",
         "symptom", "--kill-on-bad-exit=1"},
    };
    for (const auto& report : reports) {
        CAPTURE(report.number);
        const Diagnosed d{facts_of({report.text})};
        const auto some = d.diagnosis.with(diagnose::Answer::found);
        const auto found = std::ranges::find_if(
            some, [&](const auto* finding) { return finding->rule->id == report.rule; });
        REQUIRE(found != some.end());
        const auto& first = **found;
        CHECK(name_of(first.role) == report.role);
        std::string fixes;
        for (const auto& fix : first.fix) {
            fixes += fix + "\n";
        }
        CHECK_THAT(fixes, ContainsSubstring(report.says));
    }
}

TEST_CASE("a verdict survives what happens to a log on its way, and another job's names",
          "[diagnose][corpus]") {
    RAILHEAD_NEED_CORPUS();
    std::size_t told = 0;
    for (const auto& one : public_logs()) {
        const auto text = railhead::test::read_corpus(one.file);
        // These have a label already, and no launcher puts two.
        const bool labelled = text.find("[1,0]<stdout>") != std::string::npos ||
                              text.find("0: #") != std::string::npos;
        for (const auto& disguise : railhead::test::disguises()) {
            for (std::uint32_t seed = 1; seed <= disguise.seeds; ++seed) {
                const bool labels =
                    std::string_view{disguise.why}.find("launcher") != std::string_view::npos ||
                    std::string_view{disguise.why} == "all of it";
                // A collector's clock tells that the last word came soon after the last step.
                const bool is_hang = std::string_view{one.findings} == "hang";
                if (labels && (labelled || (is_hang && seed == 5))) {
                    continue;
                }
                CAPTURE(one.file, disguise.why, seed);
                const Diagnosed d{facts_of({disguise.apply(text, seed)})};
                CHECK(std::string{name_of(d.diagnosis.verdict)} == one.verdict);
                CHECK(ids_of(d.diagnosis) == one.findings);
                ++told;
            }
        }
        CAPTURE(one.file);
        const Diagnosed d{facts_of({text + text.substr(0, text.find('\n') / 3)})};  // a torn tail
        CHECK(std::string{name_of(d.diagnosis.verdict)} == one.verdict);
        CHECK(ids_of(d.diagnosis) == one.findings);
    }
    CHECK(told > 800);
}

TEST_CASE("a log that is cut says no more than the whole one", "[diagnose][corpus]") {
    RAILHEAD_NEED_CORPUS();
    std::mt19937 random{23};
    std::size_t kept = 0;
    for (const auto& one : public_logs()) {
        const auto text = railhead::test::read_corpus(one.file);
        for (int i = 0; i < 8; ++i) {
            const auto size = text.size() - random() % std::max<std::size_t>(1, text.size() / 4);
            CAPTURE(one.file, size);
            const Diagnosed d{facts_of({text.substr(0, size)})};
            for (const auto* finding : d.diagnosis.with(diagnose::Answer::found)) {
                // The first steps of a slower level are slow steps until others follow.
                const bool is_first = finding->rule->id == "slow-steps" &&
                                      std::string_view{one.findings} == "slow-part";
                CAPTURE(finding->rule->id);
                CHECK((is_first || std::string_view{one.findings}.find(finding->rule->id) !=
                                       std::string_view::npos));
            }
            kept += ids_of(d.diagnosis) == one.findings ? 1U : 0U;
        }
    }
    CHECK(kept > 8 * public_logs().size() * 9 / 10);
}
