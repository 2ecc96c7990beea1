#include "policy/drain_reason.hpp"

#include <algorithm>
#include <iterator>

namespace railhead::policy {

namespace {

/// A part of a reason, in the words of slurmctld (src/slurmctld/node_mgr.c, src/interfaces/gres.c).
struct Known {
    std::string_view part;
    std::string_view advice;
};

constexpr Known known[] = {
    {"doesn't match socket boundaries",
     "its GPUs are there, their cores are a part of a socket (NPS, sub-NUMA clustering): "
     "SlurmdParameters=numa_node_as_socket or l3cache_as_socket and the node line as `slurmd -C` "
     "then prints it, or Cores= of whole sockets in gres.conf"},
    {"gres/gpu count reported lower than configured",
     "fewer GPUs than slurm.conf says: `nvidia-smi -L` and the kernel's log on the node tell "
     "whether "
     "one is lost, else gres.conf lists too few"},
    {"gres/gpu count too low",
     "fewer GPUs than slurm.conf says: `nvidia-smi -L` and the kernel's log on the node tell "
     "whether "
     "one is lost, else gres.conf lists too few"},
    {"Low socket*core*thread count",
     "the node line of slurm.conf says more CPUs than there are: write what `slurmd -C` prints"},
    {"Low CPUs",
     "the node line of slurm.conf says more CPUs than there are: write what `slurmd -C` prints"},
    {"Low RealMemory",
     "RealMemory= of the node line is more than the kernel offers: write what `slurmd -C` prints, "
     "or "
     "less"},
};

}  // namespace

std::optional<std::string_view> advice_on_drain(std::string_view reason) {
    const auto* const found = std::ranges::find_if(
        known, [reason](const Known& k) { return reason.find(k.part) != std::string_view::npos; });
    return found == std::end(known) ? std::nullopt : std::optional{found->advice};
}

}  // namespace railhead::policy
