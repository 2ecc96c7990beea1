// A list of hosts in the words of those who start ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace railhead::report {

enum class HostFormat : std::uint8_t {
    hostfile,  ///< Open MPI, DeepSpeed: "n01 slots=8", or the host alone
    mpich,     ///< MPICH and Intel MPI: "n01:8", or the host alone
    slurm,     ///< SLURM_HOSTFILE with srun -m arbitrary: the host once for each task
    list       ///< one line: n01,n05,n02
};

/// "hostfile", "mpich", "slurm", "list": the words of HostFormat, in its order.
[[nodiscard]] std::vector<std::string> host_format_words();

/// `hosts` in the order given.  `slots` is how many ranks a host is for; 0: not said, and one for
/// `slurm`.  `list` has no room for it.
[[nodiscard]] std::string hosts_text(std::span<const std::string> hosts, HostFormat format,
                                     std::uint32_t slots);

}  // namespace railhead::report
