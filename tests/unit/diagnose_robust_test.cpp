// Every reader of diagnosis inputs, on every fixture: the kind is seen, and what people and
// machines do to files on their way does not matter.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/kind.hpp"
#include "diagnose/machine_facts.hpp"
#include "support/catch.hpp"
#include "support/corpus.hpp"
#include "support/diagnose_inputs.hpp"
#include "support/machine_digest.hpp"

namespace diagnose = railhead::diagnose;
using diagnose::FileKind;
using railhead::test::diagnose_file;

namespace {

/// Kinds by hand.
const std::vector<std::pair<std::string, FileKind>>& fixtures() {
    static const std::vector<std::pair<std::string, FileKind>> all{
        {"cpu-bind-other-socket.log", FileKind::cpu_bindings},
        {"dcgm-diag-memory-fails.txt", FileKind::dcgm},
        {"dcgm-dmon-one-idle-gpu.txt", FileKind::dcgm},
        {"deepspeed-zero-3-offload.json", FileKind::deepspeed_config},
        {"flight-recorder-rank-0-waits.json", FileKind::flight_recorder},
        {"flight-recorder-rank-1-absent.json", FileKind::flight_recorder},
        {"flight-recorder.pickle", FileKind::python_pickle},
        {"ibstat-one-port-down-one-slow.txt", FileKind::ibstat},
        {"ibv-devinfo-small-mtu.txt", FileKind::ibv_devinfo},
        {"kernel-gpu-fell-off-the-bus.log", FileKind::kernel_log},
        {"kernel-healthy.log", FileKind::kernel_log},
        {"kernel-links-and-storage.log", FileKind::kernel_log},
        {"kernel-memory-and-pcie.log", FileKind::kernel_log},
        {"lspci-acs-on-and-downgraded.txt", FileKind::lspci},
        {"nemo-tp-across-nodes.yaml", FileKind::nemo_config},
        {"nsys-nccl-dominates.csv", FileKind::nsys_stats},
        {"nsys-waits-for-samples.csv", FileKind::nsys_stats},
        {"nvidia-smi-healthy.txt", FileKind::nvidia_smi},
        {"nvidia-smi-hot-narrow-bad-memory.txt", FileKind::nvidia_smi},
        {"profiler-exposed-communication.json", FileKind::profiler_trace},
        {"ras-one-process-dead.txt", FileKind::nccl_ras},
        {"sacct-node-fail.txt", FileKind::sacct_table},
        {"sacctmgr-events.txt", FileKind::event_table},
        {"scontrol-job-gpus-per-task.txt", FileKind::job_record},
        {"scontrol-node-drained.txt", FileKind::node_record},
        {"scontrol-partition.txt", FileKind::partition_record},
        {"script-socket-forced.sbatch", FileKind::batch_script},
        {"sdiag-slow-backfill.txt", FileKind::sdiag},
        {"slurmctld-node-down.log", FileKind::slurmctld_log},
        {"slurmd-out-of-memory-and-time.log", FileKind::slurmd_log},
        {"topo-m-two-sockets.txt", FileKind::topo_m},
        {"topology-two-leaves.conf", FileKind::topology_conf},
        {"torchrun-summary.log", FileKind::traceback},
        {"torchtitan-small-batch.toml", FileKind::torchtitan_config},
        {"traceback-loader-killed-for-memory.log", FileKind::traceback},
        {"traceback-one-rank-out-of-gpu-memory.log", FileKind::traceback},
    };
    return all;
}

std::string digest(FileKind kind, const std::vector<std::string_view>& pieces) {
    diagnose::MachineFacts facts;
    auto reader = diagnose::make_machine_reader(kind, 0, "file", facts);
    REQUIRE(reader != nullptr);
    for (const auto piece : pieces) {
        reader->feed(piece);
    }
    reader->finish();
    return railhead::test::MachineDigest{facts}.text();
}

std::string digest(FileKind kind, std::string_view text) {
    return digest(kind, std::vector{text});
}

/// `text` with `before` and `after` each of its lines.
std::string around_lines(std::string_view text, std::string_view before, std::string_view after) {
    std::string changed;
    while (!text.empty()) {
        const auto end = text.find('\n');
        changed += before;
        changed += text.substr(0, end);
        changed += after;
        if (end == std::string_view::npos) {
            break;
        }
        changed += '\n';
        text.remove_prefix(end + 1);
    }
    return changed;
}

bool is_read(FileKind kind) {
    return kind != FileKind::python_pickle;
}

/// What Slurm's commands print and what it is configured by: nobody colours or labels it.
bool is_of_slurm(FileKind kind) {
    return kind >= FileKind::job_record && kind <= FileKind::topology_yaml &&
           kind != FileKind::slurmd_log && kind != FileKind::sdiag;
}

/// Formats whose lines mean nothing by themselves.
bool is_document(FileKind kind) {
    return is_of_slurm(kind) || kind == FileKind::profiler_trace || kind == FileKind::flight_recorder ||
           kind == FileKind::deepspeed_config || kind == FileKind::torchtitan_config ||
           kind == FileKind::nemo_config || kind == FileKind::batch_script;
}

}  // namespace

TEST_CASE("the kind of each fixture is seen from its content, and each fixture is listed",
          "[diagnose]") {
    std::set<std::string> listed;
    for (const auto& [name, kind] : fixtures()) {
        CAPTURE(name);
        CHECK(name_of(diagnose::guess_kind(diagnose_file(name))) == name_of(kind));
        listed.insert(name);
    }
    for (const auto& entry :
         std::filesystem::directory_iterator{railhead::test::data_file("diagnose")}) {
        CAPTURE(entry.path().filename().string());
        CHECK(listed.contains(entry.path().filename().string()));
    }
}

TEST_CASE("each fixture has something to tell", "[diagnose]") {
    for (const auto& [name, kind] : fixtures()) {
        CAPTURE(name);
        if (is_read(kind) && name != "kernel-healthy.log") {
            CHECK(digest(kind, diagnose_file(name)).size() > 15);
        }
    }
}

TEST_CASE("pieces cut anywhere say the same", "[diagnose]") {
    std::mt19937 random{7};
    for (const auto& [name, kind] : fixtures()) {
        CAPTURE(name);
        if (!is_read(kind)) {
            continue;
        }
        const auto text = diagnose_file(name);
        std::vector<std::string_view> pieces;
        for (std::string_view rest = text; !rest.empty();) {
            const auto size = std::min<std::size_t>(rest.size(), random() % 7 + 1);
            pieces.push_back(rest.substr(0, size));
            rest.remove_prefix(size);
        }
        CHECK(digest(kind, pieces) == digest(kind, text));
    }
}

TEST_CASE("DOS line ends, colours and labels of launchers change nothing", "[diagnose]") {
    for (const auto& [name, kind] : fixtures()) {
        CAPTURE(name);
        if (!is_read(kind)) {
            continue;
        }
        const auto text = diagnose_file(name);
        const auto plain = digest(kind, text);
        CHECK(digest(kind, around_lines(text, "", "\r")) == plain);
        if (is_document(kind)) {
            continue;
        }
        CHECK(digest(kind, around_lines(text, "\x1b[32m", "\x1b[0m")) == plain);
        const bool is_labelled = name.find("traceback-loader") != std::string::npos;
        const bool is_daemon =
            kind == FileKind::slurmd_log || kind == FileKind::sdiag || kind == FileKind::nsys_stats;
        if (!is_labelled && !is_daemon) {
            const auto labelled = around_lines(text, "3: ", "");
            CHECK(digest(kind, labelled) == plain);
            CHECK(name_of(diagnose::guess_kind(labelled)) == name_of(kind));
        }
        const bool is_of_node = kind == FileKind::nvidia_smi || kind == FileKind::dcgm ||
                                kind == FileKind::ibstat || kind == FileKind::ibv_devinfo ||
                                kind == FileKind::lspci;
        if (is_of_node) {
            for (const std::string_view label : {"gpu-017: ", "[1,3]<stdout>:"}) {
                const auto labelled = around_lines(text, label, "");
                CAPTURE(label);
                CHECK(digest(kind, labelled) == plain);
                CHECK(name_of(diagnose::guess_kind(labelled)) == name_of(kind));
            }
        }
    }
}

TEST_CASE("a file that is cut tells no more than the whole one, line by line", "[diagnose]") {
    std::mt19937 random{11};
    for (const auto& [name, kind] : fixtures()) {
        // What stands further down changes what is told of a first line: counts, means, details.
        if (kind != FileKind::slurmd_log && kind != FileKind::traceback) {
            continue;
        }
        const auto text = diagnose_file(name);
        const auto whole = digest(kind, text);
        for (int i = 0; i < 50; ++i) {
            const auto end = text.rfind('\n', random() % text.size());
            const auto cut = text.substr(0, end == std::string::npos ? 0 : end + 1);
            CAPTURE(name, cut.size());
            auto told = digest(kind, cut);
            told = told.substr(0, told.find("unfinished"));
            CHECK(whole.starts_with(told));
        }
    }
}

TEST_CASE("noise in any file stops no reader of any kind", "[diagnose]") {
    std::mt19937 random{13};
    std::size_t read = 0;
    for (const auto& [name, own] : fixtures()) {
        auto text = diagnose_file(name);
        for (int i = 0; i < 20; ++i) {
            text[random() % text.size()] = static_cast<char>(random() % 256);
        }
        for (std::size_t k = 0; k < static_cast<std::size_t>(FileKind::count_); ++k) {
            diagnose::MachineFacts facts;
            const auto reader =
                diagnose::make_machine_reader(static_cast<FileKind>(k), 0, name, facts);
            if (reader != nullptr) {
                reader->feed(text);
                reader->finish();
                ++read;
            }
        }
    }
    // 6 kinds of job output and 26 others.
    CHECK(read == 32 * fixtures().size());
}

TEST_CASE("no failure is seen in public logs that have none", "[diagnose][corpus]") {
    RAILHEAD_NEED_CORPUS();
    std::size_t read = 0;
    for (const auto* folder : {"nccl-log", "nccl-tests", "train-log"}) {
        for (const auto& name : railhead::test::list_corpus(folder, "")) {
            CAPTURE(folder, name);
            CHECK(digest(FileKind::nccl_log,
                         railhead::test::read_corpus(std::string{folder} + "/" + name)) ==
                  "unfinished 0\n");
            ++read;
        }
    }
    CHECK(read >= 58);  // as many as INDEX.tsv lists
}

TEST_CASE("a pickle is named, and what to do with it", "[diagnose]") {
    const auto kind = diagnose::guess_kind(diagnose_file("flight-recorder.pickle"));
    diagnose::MachineFacts facts;

    CHECK(name_of(kind) == "Python pickle");
    CHECK(diagnose::make_machine_reader(kind, 0, "file", facts) == nullptr);
    CHECK(diagnose::refusal_of(kind).find("json.dump(pickle.load(") != std::string_view::npos);
    CHECK(diagnose::refusal_of(FileKind::kernel_log).empty());
}
