// What kind of file is this?  Told from its content, not its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace railhead::diagnose {

enum class FileKind : std::uint8_t {
    unknown,
    // What a job prints.  All of these mix in one file: see is_job_output().
    nccl_log,      ///< NCCL_DEBUG
    nccl_tests,    ///< tables of nccl-tests
    training_log,  ///< steps, losses, arguments of the run
    watchdog,      ///< PyTorch's ProcessGroupNCCL on a collective that timed out
    traceback,     ///< Python's
    cpu_bindings,  ///< of tasks: srun --cpu-bind=verbose, taskset -cp, Cpus_allowed_list
    // Of a node.
    topo_m,      ///< nvidia-smi topo -m
    nvidia_smi,  ///< nvidia-smi -q
    dcgm,        ///< dcgmi diag, health, dmon
    lspci,       ///< lspci -vvv, or its ACSCtl lines
    ibstat,
    ibv_devinfo,
    kernel_log,  ///< dmesg, journalctl -k
    // Of a run.
    profiler_trace,     ///< PyTorch's, JSON as Chrome reads it
    nsys_stats,         ///< nsys stats --format csv
    flight_recorder,    ///< PyTorch's NCCL flight recorder, as JSON
    nccl_ras,           ///< what NCCL's RAS port answers
    deepspeed_config,   ///< JSON
    torchtitan_config,  ///< TOML
    nemo_config,        ///< YAML
    batch_script,       ///< with #SBATCH lines
    // Of Slurm.
    job_record,        ///< scontrol show job
    node_record,       ///< scontrol show node
    partition_record,  ///< scontrol show partition
    slurmctld_log,
    slurmd_log,
    sacct_table,  ///< sacct --parsable2
    sacct_json,
    sdiag,
    event_table,    ///< sacctmgr show event --parsable2
    topology_conf,  ///< of Slurm: SwitchName=, BlockName=
    topology_yaml,
    // Known, and not read.
    python_pickle,  ///< among them the flight recorder's own format
    slurm_conf,
    gres_conf,
    hwloc_xml,
    nccl_topology,  ///< XML, as NCCL_TOPO_FILE
    count_
};

/// "NCCL log", "output of nvidia-smi topo -m": for people.
[[nodiscard]] std::string_view name_of(FileKind kind);

constexpr std::size_t kind_head = std::size_t{64} << 10U;  // bytes that tell a kind

/// The kind of a file that begins with `head`, of which `kind_head` bytes are looked at; `unknown`
/// where nothing in it is known.  Of several kinds that mix it is the one that begins first.
[[nodiscard]] FileKind guess_kind(std::string_view head);

/// Whether this is what a job prints: such a file is read for NCCL's lines, nccl-tests, steps,
/// watchdogs, tracebacks and bindings alike, since its head does not tell what comes later.
[[nodiscard]] bool is_job_output(FileKind kind);

}  // namespace railhead::diagnose
