// How was a cluster made use of?  Time of nodes and of their GPUs in jobs, between jobs and out of
// service, from Slurm's records.
//
// Time in which a node was out of service (an event of sacctmgr) counts neither way, also not what
// a job still had of a node that was draining.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "diagnose/slurm_records.hpp"

namespace railhead::diagnose {

/// No job had the node, which was in service, between the end of one and the start of the next.
struct IdleTime {
    std::string node;
    double begin_s = 0, end_s = 0;
};

struct NodeUse {
    double begin_s = 0, end_s = 0;  ///< of the window
    std::uint64_t nodes = 0;        ///< that were looked at
    double in_service_s = 0;        ///< of all of them
    double busy_s = 0;              ///< of that, in which a job had the node
    double in_service_gpu_s = 0;
    double busy_gpu_s = 0;  ///< of that, in which a job had the GPU

    std::uint64_t changes = 0;   ///< from one job to the next, on a node
    double idle_s = 0;           ///< in all of them
    double idle_waited_s = 0;    ///< of that, in which a job that ran later had been submitted
    double median_idle_s = 0;    ///< 0 where there was no change
    IdleTime longest;            ///< empty where there was no change
    std::uint64_t left_out = 0;  ///< attempts with a list of nodes that cannot be read

    [[nodiscard]] double mean_idle_s() const {
        return changes > 0 ? idle_s / static_cast<double>(changes) : 0;
    }
};

/// `gpus` are the nodes that are looked at, with the GPUs of each.  A job's GPUs are taken to lie
/// evenly on its nodes; what has no end yet goes on at `end_s`, which is not before `begin_s`.
[[nodiscard]] NodeUse use_of(const SlurmRecords& records,
                             const std::map<std::string, std::uint64_t>& gpus, std::int64_t begin_s,
                             std::int64_t end_s);

}  // namespace railhead::diagnose
