// One line that says what a task was given, in the manner of srun --cpu-bind=verbose.
//
//     node n01 task 3 rank 11: GPU 3 (0000:45:00.0), CPUs 12-15,76-79 (NUMA 0), memory 0, NIC
//     mlx5_3:1 PIX
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "affinity/memory.hpp"
#include "node/node.hpp"

namespace railhead::affinity {

struct BindingLine {
    /// A GPU as it is shown: the node's number, and the PCI address where known.
    struct Gpu {
        unsigned index = 0;
        std::string pci;
    };

    std::string who;  ///< "node n01 task 3 rank 11"
    std::vector<Gpu> gpus;
    CpuSet cpus;            ///< the mask that the task ends up with
    std::string cpus_kept;  ///< why that is not ours; empty: it is
    std::string numa;       ///< the NUMA nodes of these CPUs: "0-1"; "" when not known
    std::string memory;     ///< "0" or "bind 0"; "" where memory is left alone
    std::string memory_kept;  ///< why memory is left alone; "" where that goes without saying
    std::string nics;         ///< "mlx5_3:1"; "" when there is none
    std::string path;       ///< "PIX", of every NIC; "" when not known or not the same
};

/// The line, without an end of line.
[[nodiscard]] std::string to_string(const BindingLine& line);

/// The NUMA nodes that these CPUs are of: "0-1".
[[nodiscard]] std::string numa_of(const node::Node& node, const CpuSet& cpus);

}  // namespace railhead::affinity
