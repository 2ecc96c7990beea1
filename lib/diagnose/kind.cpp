#include "diagnose/kind.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/text.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {
namespace {

struct TextMark {
    FileKind kind;
    std::string_view text;
    bool begins_line = false;  ///< blanks before it do not count
};

/// What only files of one kind have, each in lines of its own.
constexpr std::array marks{
    TextMark{FileKind::nccl_ras, " compiled with CUDA "},  // "NCCL version 2.24.3 compiled with …"
    TextMark{FileKind::nccl_log, " NCCL INFO "},
    TextMark{FileKind::nccl_log, "NCCL INFO ", true},
    TextMark{FileKind::nccl_log, " NCCL WARN "},
    TextMark{FileKind::nccl_log, "NCCL WARN ", true},
    TextMark{FileKind::nccl_log, "NCCL version ", true},
    TextMark{FileKind::nccl_tests, "# nccl-tests version", true},
    TextMark{FileKind::nccl_tests, "# nThread ", true},
    TextMark{FileKind::nccl_tests, "out-of-place                       in-place"},
    TextMark{FileKind::nccl_tests, "# Avg bus bandwidth", true},
    TextMark{FileKind::nccl_tests, "count      type   redop"},
    TextMark{FileKind::watchdog, "ProcessGroupNCCL.cpp:"},
    TextMark{FileKind::watchdog, "Watchdog caught collective operation timeout"},
    TextMark{FileKind::traceback, "Traceback (most recent call last):"},
    TextMark{FileKind::traceback, "Root Cause (first observed failure)"},
    TextMark{FileKind::traceback, "srun: error: ", true},
    TextMark{FileKind::training_log, "elapsed time per iteration (ms)"},
    TextMark{FileKind::training_log, "consumed samples:"},
    TextMark{FileKind::training_log, ":::MLLOG"},
    TextMark{FileKind::training_log, "--- arguments ---"},
    TextMark{FileKind::training_log, "train_step_timing in s:"},  // NeMo
    TextMark{FileKind::training_log, "throughput/samples_per_sec"},
    TextMark{FileKind::training_log, "DeepSpeed Flops Profiler"},
    TextMark{FileKind::training_log, "multiply-accumulate operations(MACs)"},
    TextMark{FileKind::cpu_bindings, "cpu-bind="},
    TextMark{FileKind::cpu_bindings, "cpu_bind="},
    TextMark{FileKind::cpu_bindings, "'s current affinity "},
    TextMark{FileKind::cpu_bindings, "Cpus_allowed_list:"},
    TextMark{FileKind::topo_m, "CPU Affinity\tNUMA Affinity"},
    TextMark{FileKind::topo_m, "Legend:", true},
    TextMark{FileKind::nvidia_smi, "==============NVSMI LOG==============", true},
    TextMark{FileKind::dcgm, "| Diagnostic ", true},
    TextMark{FileKind::dcgm, "#Entity", true},
    TextMark{FileKind::dcgm, "| Health Monitor Report", true},
    TextMark{FileKind::lspci, "ACSCtl:"},
    TextMark{FileKind::lspci, "LnkSta:"},
    TextMark{FileKind::ibstat, "CA type:", true},
    TextMark{FileKind::ibv_devinfo, "hca_id:", true},
    TextMark{FileKind::kernel_log, "NVRM: "},
    TextMark{FileKind::kernel_log, "] Linux version "},
    TextMark{FileKind::kernel_log, " kernel: "},
    TextMark{FileKind::kernel_log, "[Hardware Error]"},
    TextMark{FileKind::kernel_log, ": AER: "},
    TextMark{FileKind::kernel_log, "LustreError: "},
    TextMark{FileKind::kernel_log, "ut of memory: Killed process "},
    TextMark{FileKind::nccl_ras, "Communicators... "},
    TextMark{FileKind::nccl_ras, "Job summary", true},
    TextMark{FileKind::batch_script, "#SBATCH ", true},
    TextMark{FileKind::job_record, "JobId=", true},
    TextMark{FileKind::slurmctld_log, "] slurmctld version "},
    TextMark{FileKind::slurmctld_log, "] sched: "},
    TextMark{FileKind::slurmctld_log, "] error: Nodes "},
    TextMark{FileKind::slurmctld_log, "] update_node: node "},
    TextMark{FileKind::slurmctld_log, "] _slurm_rpc_"},
    TextMark{FileKind::slurmctld_log, "] _job_complete: JobId="},
    TextMark{FileKind::slurmctld_log, "] Time limit exhausted for JobId="},
    TextMark{FileKind::slurmd_log, "] slurmd version "},
    TextMark{FileKind::slurmd_log, "] launch task StepId="},
    TextMark{FileKind::slurmd_log, "] error: Unable to register: "},
    TextMark{FileKind::slurmd_log, "] Launching batch job "},
    TextMark{FileKind::sdiag, "sdiag output at ", true},
    TextMark{FileKind::profiler_trace, "\"traceEvents\""},
    TextMark{FileKind::profiler_trace, "\"deviceProperties\""},
    TextMark{FileKind::flight_recorder, "\"pg_config\""},
    TextMark{FileKind::flight_recorder, "\"collective_seq_id\""},
    TextMark{FileKind::deepspeed_config, "\"zero_optimization\""},
    TextMark{FileKind::deepspeed_config, "\"train_micro_batch_size_per_gpu\""},
    TextMark{FileKind::nsys_stats, "Time (%),Total Time (ns),", true},
    TextMark{FileKind::nsys_stats, "Time(%),Total Time (ns),", true},
    TextMark{FileKind::sacct_json, "\"derived_exit_code\""},
    TextMark{FileKind::torchtitan_config, "[parallelism]", true},
    TextMark{FileKind::nemo_config, "tensor_model_parallel_size:", true},
    TextMark{FileKind::topology_conf, "SwitchName=", true},
    TextMark{FileKind::topology_conf, "BlockName=", true},
    TextMark{FileKind::topology_yaml, "- topology:", true},
    TextMark{FileKind::gres_conf, "AutoDetect=", true},
    TextMark{FileKind::slurm_conf, "ClusterName=", true},
    TextMark{FileKind::slurm_conf, "SlurmctldHost=", true},
    TextMark{FileKind::slurm_conf, "NodeName=", true},
    TextMark{FileKind::hwloc_xml, "<!DOCTYPE topology ", true},
    TextMark{FileKind::nccl_topology, "<system version=", true},
    TextMark{FileKind::nccl_topology, "<graphs version=", true},
};

bool is_number(std::string_view word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

/// "8  2  float  sum  -1  471.5  …".
bool is_nccl_tests_row(const std::vector<std::string_view>& words) {
    constexpr std::array<std::string_view, 11> types{"int8",   "uint8",  "int32",   "uint32",
                                                     "int64",  "uint64", "half",    "float",
                                                     "double", "char",   "bfloat16"};
    constexpr std::array<std::string_view, 6> operations{"sum", "prod", "min",
                                                         "max", "avg",  "none"};
    constexpr std::size_t least = 9;
    return words.size() >= least && is_number(words[0]) && is_number(words[1]) &&
           is_one_of(words[2], types) && is_one_of(words[3], operations);
}

/// "N type op time algbw busbw" of NCCL 1's tests.
bool is_nccl_1_heading(const std::vector<std::string_view>& words) {
    constexpr std::size_t columns = 6;
    return words.size() == columns && words[0] == "N" && words[1] == "type" && words[5] == "busbw";
}

/// A row of a matrix of nvidia-smi topo -m: "GPU0  X  NV18  PIX  …".
bool is_topo_row(const std::vector<std::string_view>& words) {
    constexpr std::array<std::string_view, 8> classes{"X",    "PIX", "PXB", "PHB",
                                                      "NODE", "SYS", "SOC", "PSB"};
    constexpr std::size_t least = 3;
    if (words.size() < least) {
        return false;
    }
    const auto named = [&](std::string_view by) {
        return words[0].starts_with(by) && is_number(words[0].substr(by.size()));
    };
    const auto is_cell = [&](std::string_view word) {
        return is_one_of(word, classes) || (word.starts_with("NV") && is_number(word.substr(2)));
    };
    return (named("GPU") || named("NIC") || named("mlx5_") || named("mlx4_")) &&
           is_cell(words[1]) && is_cell(words[2]);
}

/// "step: 20  loss: 11.8  grad_norm: 9.7  …" of torchtitan; the dictionary that Hugging Face's
/// Trainer prints.
bool is_step(const std::vector<std::string_view>& words) {
    const auto has = [&](std::string_view word) {
        return std::ranges::find(words, word) != words.end();
    };
    return (has("step:") && has("loss:")) || (has("'grad_norm':") && has("'learning_rate':")) ||
           (has("samples/sec,") && has("Loss:")) || has("samples/sec");
}

/// The first line of a node of scontrol; one of slurm.conf has other keys.
bool is_node_record(const std::vector<std::string_view>& words) {
    return words.size() > 1 && words[0].starts_with("NodeName=") &&
           (words[1].starts_with("Arch=") ||
            (words[1].starts_with("CoresPerSocket=") && words.size() == 2));
}

/// The first line of a partition of scontrol has nothing else.
bool is_partition_record(const std::vector<std::string_view>& words) {
    return !words.empty() && words[0].starts_with("PartitionName=") &&
           (words.size() == 1 || words[1].starts_with("AllowGroups="));
}

bool is_slurm_conf_partition(const std::vector<std::string_view>& words) {
    return words.size() > 1 && words[0].starts_with("PartitionName=");
}

/// "Name=gpu File=…", "NodeName=n[1-4] Name=gpu …".
bool is_gres(const std::vector<std::string_view>& words) {
    const auto is_name = [](std::string_view word) { return word.starts_with("Name="); };
    return !words.empty() && (is_name(words[0]) || (words[0].starts_with("NodeName=") &&
                                                    std::ranges::any_of(words, is_name)));
}

bool has_columns(std::string_view line, std::string_view one, std::string_view other) {
    const auto columns = split(line, '|');
    const auto has = [&](std::string_view name) {
        return std::ranges::any_of(columns, [&](auto column) { return trim(column) == name; });
    };
    return columns.size() > 1 && has(one) && has(other);
}

/// What only the whole of a line tells.
FileKind kind_of_line(std::string_view line) {
    if (line.find('|') != std::string_view::npos) {
        if (has_columns(line, "JobID", "State") || has_columns(line, "JobIDRaw", "State") ||
            has_columns(line, "JobID", "NodeList")) {
            return FileKind::sacct_table;
        }
        if (has_columns(line, "NodeName", "TimeStart")) {
            return FileKind::event_table;
        }
    }
    struct Shape {
        FileKind kind;
        bool (*fits)(const std::vector<std::string_view>& words);
    };
    constexpr std::array shapes{
        Shape{FileKind::nccl_tests, is_nccl_tests_row},
        Shape{FileKind::nccl_tests, is_nccl_1_heading},
        Shape{FileKind::topo_m, is_topo_row},
        Shape{FileKind::training_log, is_step},
        Shape{FileKind::node_record, is_node_record},
        Shape{FileKind::partition_record, is_partition_record},
        Shape{FileKind::slurm_conf, is_slurm_conf_partition},
        Shape{FileKind::gres_conf, is_gres},
    };
    const auto words = split_words(line);
    const auto* found =
        std::ranges::find_if(shapes, [&](const Shape& shape) { return shape.fits(words); });
    return found == shapes.end() ? FileKind::unknown : found->kind;
}

bool stands_in(const TextMark& mark, std::string_view line, std::string_view trimmed) {
    return mark.begins_line ? trimmed.starts_with(mark.text)
                            : line.find(mark.text) != std::string_view::npos;
}

/// Protocols 2 to 5 begin with PROTO and their number (Python's pickletools).
bool is_pickle(std::string_view head) {
    return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

}  // namespace

std::string_view name_of(FileKind kind) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(FileKind::count_)> names{
        "unknown",
        "NCCL log",
        "nccl-tests",
        "training log",
        "PyTorch watchdog",
        "Python traceback",
        "CPU bindings",
        "nvidia-smi topo -m",
        "nvidia-smi -q",
        "DCGM",
        "lspci",
        "ibstat",
        "ibv_devinfo",
        "kernel log",
        "profiler trace",
        "nsys stats",
        "NCCL flight recorder",
        "NCCL RAS",
        "DeepSpeed configuration",
        "torchtitan configuration",
        "NeMo configuration",
        "batch script",
        "scontrol show job",
        "scontrol show node",
        "scontrol show partition",
        "slurmctld log",
        "slurmd log",
        "sacct --parsable2",
        "sacct --json",
        "sdiag",
        "sacctmgr show event",
        "topology.conf",
        "topology.yaml",
        "Python pickle",
        "slurm.conf",
        "gres.conf",
        "hwloc XML",
        "NCCL topology XML"};
    const auto at = static_cast<std::size_t>(kind);
    return at < names.size() ? names[at] : names[0];
}

FileKind guess_kind(std::string_view head) {
    head = head.substr(0, kind_head);
    if (is_pickle(head)) {
        return FileKind::python_pickle;
    }
    while (!head.empty()) {
        const auto line = head.substr(0, head.find('\n'));
        head.remove_prefix(line.size() < head.size() ? line.size() + 1 : line.size());
        const auto trimmed = trim(line);
        auto unlabelled = line;  // of srun --label, pdsh, mpirun
        static_cast<void>(take_label(unlabelled));
        unlabelled = trim(unlabelled);
        for (const auto text : {trimmed, unlabelled}) {
            if (const auto kind = kind_of_line(text); kind != FileKind::unknown) {
                return kind;
            }
        }
        for (const TextMark& mark : marks) {
            if (stands_in(mark, line, trimmed) || stands_in(mark, line, unlabelled)) {
                return mark.kind;
            }
        }
    }
    return FileKind::unknown;
}

bool is_job_output(FileKind kind) {
    return kind >= FileKind::nccl_log && kind <= FileKind::cpu_bindings;
}

}  // namespace railhead::diagnose
