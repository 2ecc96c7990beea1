#include "diagnose/kind.hpp"

#include <array>

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
    TextMark{FileKind::watchdog, "ProcessGroupNCCL.cpp:"},
    TextMark{FileKind::watchdog, "Watchdog caught collective operation timeout"},
    TextMark{FileKind::traceback, "Traceback (most recent call last):"},
    TextMark{FileKind::traceback, "Root Cause (first observed failure)"},
    TextMark{FileKind::traceback, "srun: error: ", true},
    TextMark{FileKind::training_log, "elapsed time per iteration (ms)"},
    TextMark{FileKind::training_log, "consumed samples:"},
    TextMark{FileKind::training_log, ":::MLLOG"},
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
    TextMark{FileKind::slurmd_log, "] slurmd version "},
    TextMark{FileKind::slurmd_log, "] launch task StepId="},
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
    TextMark{FileKind::sacct_table, "JobID|", true},
    TextMark{FileKind::event_table, "Cluster|NodeName|", true},
    TextMark{FileKind::torchtitan_config, "[parallelism]", true},
    TextMark{FileKind::nemo_config, "tensor_model_parallel_size:", true},
};

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
        "slurmctld log",
        "slurmd log",
        "sacct --parsable2",
        "sacct --json",
        "sdiag",
        "sacctmgr show event",
        "Python pickle"};
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
        for (const TextMark& mark : marks) {
            if (stands_in(mark, line, trimmed) || stands_in(mark, line, unlabelled)) {
                return mark.kind;
            }
        }
    }
    return FileKind::unknown;
}

bool is_job_output(FileKind kind) {
    return kind >= FileKind::nccl_log && kind <= FileKind::traceback;
}

}  // namespace railhead::diagnose
