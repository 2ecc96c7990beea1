// What the files of a diagnosis say that are not of NCCL, of training or of Slurm's accounting: one
// list a kind of file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "diagnose/dcgm.hpp"
#include "diagnose/failures_text.hpp"
#include "diagnose/flight_recorder.hpp"
#include "diagnose/gpu_state.hpp"
#include "diagnose/job_details.hpp"
#include "diagnose/kernel_log.hpp"
#include "diagnose/kind.hpp"
#include "diagnose/line_reader.hpp"
#include "diagnose/lspci.hpp"
#include "diagnose/nccl_ras.hpp"
#include "diagnose/nsys_stats.hpp"
#include "diagnose/ports_text.hpp"
#include "diagnose/profiler_trace.hpp"
#include "diagnose/rank_reports.hpp"
#include "diagnose/run_configuration.hpp"
#include "diagnose/slurm_records.hpp"
#include "diagnose/slurm_text.hpp"
#include "fabric/fabric.hpp"
#include "node/node.hpp"

namespace railhead::diagnose {

/// A node as nvidia-smi topo -m shows it.
struct TopoMatrix {
    std::uint32_t file = 0;
    node::Node node;
};

struct TopologyFile {
    std::uint32_t file = 0;
    std::vector<fabric::Fabric> fabrics;
};

/// Why a file of a kind that is known could not be read.
struct FileTrouble {
    std::uint32_t file = 0;
    std::string what;
};

/// Each in the order in which files were read.
struct MachineFacts {
    std::vector<KernelLog> kernel_logs;
    std::vector<GpuStates> gpu_states;
    std::vector<DcgmReport> dcgm;
    std::vector<std::vector<PortState>> ports;
    std::vector<PciState> pci;
    std::vector<Failures> failures;  ///< of what jobs printed
    std::vector<RankReports> ranks;  ///< of the same, where they have any
    std::vector<RasReport> ras;
    std::vector<FlightRecord> flight_records;
    std::vector<ProfilerTrace> traces;
    std::vector<NsysStats> nsys;
    std::vector<RunConfiguration> configurations;
    std::vector<SlurmdLog> slurmd_logs;
    std::vector<ControllerStatistics> controllers;
    std::vector<TopoMatrix> matrices;
    std::vector<TopologyFile> topologies;
    std::vector<JobDetails> jobs;
    std::vector<PartitionNodes> partitions;
    SlurmRecords slurm;  ///< with the numbers of these files; its own Sources are empty
    std::vector<FileTrouble> troubles;
};

/// A reader of a file of `kind` that adds what it found to `facts` when it has finished; `facts`
/// must outlive it.  `file` is its number in Sources, `name` its name.  Job output of any kind is
/// read for failures and for what ranks report.  Null for kinds that other readers are for, or
/// none.
[[nodiscard]] std::unique_ptr<Reader> make_machine_reader(FileKind kind, std::uint32_t file,
                                                          const std::string& name,
                                                          MachineFacts& facts);

/// What to do with a file of a kind that is known and cannot be read: a whole sentence; empty for
/// others.
[[nodiscard]] std::string_view refusal_of(FileKind kind);

}  // namespace railhead::diagnose
