#include "diagnose/kind.hpp"

#include <array>

#include "base/text.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {
namespace {

struct Mark {
    FileKind kind;
    std::string_view text;
    bool begins_line = false;  ///< blanks before it do not count
};

/// What only files of one kind have, each in lines of its own.
constexpr std::array marks{
    Mark{FileKind::nccl_ras, " compiled with CUDA "},  // "NCCL version 2.24.3 compiled with …"
    Mark{FileKind::nccl_log, " NCCL INFO "},
    Mark{FileKind::nccl_log, "NCCL INFO ", true},
    Mark{FileKind::nccl_log, " NCCL WARN "},
    Mark{FileKind::nccl_log, "NCCL WARN ", true},
    Mark{FileKind::nccl_log, "NCCL version ", true},
    Mark{FileKind::nccl_tests, "# nccl-tests version", true},
    Mark{FileKind::nccl_tests, "# nThread ", true},
    Mark{FileKind::nccl_tests, "out-of-place                       in-place"},
    Mark{FileKind::nccl_tests, "# Avg bus bandwidth", true},
    Mark{FileKind::watchdog, "ProcessGroupNCCL.cpp:"},
    Mark{FileKind::watchdog, "Watchdog caught collective operation timeout"},
    Mark{FileKind::traceback, "Traceback (most recent call last):"},
    Mark{FileKind::traceback, "Root Cause (first observed failure)"},
    Mark{FileKind::traceback, "srun: error: ", true},
    Mark{FileKind::training_log, "elapsed time per iteration (ms)"},
    Mark{FileKind::training_log, "consumed samples:"},
    Mark{FileKind::training_log, ":::MLLOG"},
    Mark{FileKind::topo_m, "CPU Affinity\tNUMA Affinity"},
    Mark{FileKind::topo_m, "Legend:", true},
    Mark{FileKind::nvidia_smi, "==============NVSMI LOG==============", true},
    Mark{FileKind::dcgm, "| Diagnostic ", true},
    Mark{FileKind::dcgm, "#Entity", true},
    Mark{FileKind::dcgm, "| Health Monitor Report", true},
    Mark{FileKind::lspci, "ACSCtl:"},
    Mark{FileKind::lspci, "LnkSta:"},
    Mark{FileKind::ibstat, "CA type:", true},
    Mark{FileKind::ibv_devinfo, "hca_id:", true},
    Mark{FileKind::kernel_log, "NVRM: "},
    Mark{FileKind::kernel_log, "] Linux version "},
    Mark{FileKind::kernel_log, " kernel: "},
    Mark{FileKind::kernel_log, "[Hardware Error]"},
    Mark{FileKind::kernel_log, ": AER: "},
    Mark{FileKind::kernel_log, "LustreError: "},
    Mark{FileKind::kernel_log, "ut of memory: Killed process "},
    Mark{FileKind::nccl_ras, "Communicators... "},
    Mark{FileKind::nccl_ras, "Job summary", true},
    Mark{FileKind::batch_script, "#SBATCH ", true},
    Mark{FileKind::job_record, "JobId=", true},
    Mark{FileKind::slurmctld_log, "] slurmctld version "},
    Mark{FileKind::slurmctld_log, "] sched: "},
    Mark{FileKind::slurmd_log, "] slurmd version "},
    Mark{FileKind::slurmd_log, "] launch task StepId="},
    Mark{FileKind::sdiag, "sdiag output at ", true},
    Mark{FileKind::profiler_trace, "\"traceEvents\""},
    Mark{FileKind::profiler_trace, "\"deviceProperties\""},
    Mark{FileKind::flight_recorder, "\"pg_config\""},
    Mark{FileKind::flight_recorder, "\"collective_seq_id\""},
    Mark{FileKind::deepspeed_config, "\"zero_optimization\""},
    Mark{FileKind::deepspeed_config, "\"train_micro_batch_size_per_gpu\""},
    Mark{FileKind::nsys_stats, "Time (%),Total Time (ns),", true},
    Mark{FileKind::nsys_stats, "Time(%),Total Time (ns),", true},
    Mark{FileKind::sacct_json, "\"derived_exit_code\""},
    Mark{FileKind::sacct_table, "JobID|", true},
    Mark{FileKind::event_table, "Cluster|NodeName|", true},
    Mark{FileKind::torchtitan_config, "[parallelism]", true},
    Mark{FileKind::nemo_config, "tensor_model_parallel_size:", true},
};

bool stands_in(const Mark& mark, std::string_view line, std::string_view trimmed) {
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
        for (const Mark& mark : marks) {
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
