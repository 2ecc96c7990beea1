// All that rules look at: what was read, as plain values, with the lines it was read from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/kind.hpp"
#include "diagnose/machine_facts.hpp"
#include "diagnose/nccl_facts.hpp"
#include "fabric/nccl_tests.hpp"
#include "training/achieved.hpp"
#include "training/log_summary.hpp"
#include "training/nic.hpp"

namespace railhead::diagnose {

/// What a rule may need.  A rule whose input is missing answers that it does not know, and names
/// it.
enum class Input : std::uint8_t {
    training_log,
    step_times,
    step_clock,     ///< lines of the log have times
    checkpoints,    ///< the log tells when one is written
    run_arguments,  ///< the log has the arguments of the run
    model_flops,    ///< enough for an MFU
    accelerator,
    network,  ///< which NIC and how many of a node
    nccl_log,
    nccl_devices,  ///< its lines on networks and NICs
    nccl_paths,    ///< its lines on connections
    nccl_graph,    ///< its lines on the topology
    nccl_ranks,    ///< its lines on communicators
    bandwidth,     ///< a table of nccl-tests
    large_sizes,   ///< rows of 128 MiB and more
    small_sizes,   ///< rows of 8 KiB and less
    kernel_log,
    gpu_states,  ///< nvidia-smi -q
    dcgm,
    ports,           ///< ibstat
    pci,             ///< lspci -vvv
    job_output,      ///< what ranks printed when they ended
    flight_records,  ///< of PyTorch's NCCL flight recorder
    profiler_trace,
    ras,          ///< what NCCL's RAS port answers
    grad_norms,   ///< the training log prints them
    rank_norms,   ///< and each rank its own, with a label
    job_records,  ///< sacct, scontrol show job
    one_job,      ///< these, of not more than a few jobs
    node_events,  ///< sacctmgr show event, slurmctld's log
    slurmd_log,
    sdiag,
    job_request,  ///< scontrol show job, or the batch script
    topology,     ///< topology.conf
    cpu_bindings,
    topo_m,
    nsys,
    count_
};
/// "a log with NCCL_DEBUG=INFO": what to hand in.
[[nodiscard]] std::string_view name_of(Input input);

/// What was said of the cluster; what was not said is absent.
struct Hardware {
    const training::Accelerator* accelerator = nullptr;
    std::optional<training::Precision> precision;
    const training::Nic* nic = nullptr;
    const training::Nic* usual_nic = nullptr;  ///< of the usual node: for costs alone
    Evidence accelerator_at;                   ///< the line that names it; else it was said
    std::uint64_t gpus = 0, gpus_per_node = 0, nics_per_node = 0;  ///< 0: not said
};

/// One log of a training run.
struct TrainingFacts {
    std::uint32_t file = 0;
    training::TrainingLog log;
    training::LogSummary summary;
    std::optional<training::MfuAnswer> mfu;
    std::vector<std::string> mfu_needs;  ///< what is missing for an MFU

    [[nodiscard]] const training::Run& run() const { return log.runs[summary.run]; }
    [[nodiscard]] Evidence at(std::uint64_t line) const { return {file, line, {}}; }
    [[nodiscard]] std::optional<double> said(training::Topic topic) const;
    /// What `mfu`, which is of the usual step of the whole run, has to be multiplied with to be
    /// that of the last steps: their level may be another.
    [[nodiscard]] double speed_now() const;
};

/// One table of nccl-tests.
struct BandwidthFacts {
    std::uint32_t file = 0;
    fabric::NcclTests table;
};

/// A file, and what was made of it.
struct FileFacts {
    std::uint32_t file = 0;
    FileKind kind = FileKind::unknown;
    bool is_read = false;  ///< something in it was understood
    std::string trouble;   ///< why it was not, of a kind that is read
};

struct Facts {
    Sources sources;
    std::vector<FileFacts> files;
    Hardware hardware;
    std::vector<TrainingFacts> training;
    std::vector<BandwidthFacts> bandwidth;
    std::optional<NcclLog> nccl;
    MachineFacts machine;

    /// The log with most lines about steps; null where there is none.
    [[nodiscard]] const TrainingFacts* main_training() const;
    /// GPUs of a node: as said, else of the usual node; 0 where no accelerator is known.
    [[nodiscard]] std::uint64_t gpus_per_node() const;
};

}  // namespace railhead::diagnose
