// How the granted CPUs are dealt out to the GPUs of a step.
//
// GPUs rarely have neat, equal sets of local CPUs: two or four share a NUMA node, sub-NUMA
// clustering gives one a part of what its neighbour calls local, a virtual machine calls everything
// local.  So each core is dealt to one of the GPUs that it is near, the sizes made as even as that
// allows: none could get more without taking from one that has no more than it (max-min fairness,
// found as an optimal semi-matching: Harvey, Ladner, Lovász, Tamir, "Semi-matchings for bipartite
// graphs and load balancing", 2006).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cpu_set.hpp"
#include "node/node.hpp"

namespace railhead::affinity {

/// The CPUs of one GPU.
struct Share {
    CpuSet cpus;
    unsigned gpus = 1;  ///< how many GPUs of the step have these CPUs between them
};

/// Which cores count as near a GPU.
enum class Reach : std::uint8_t {
    local,  ///< those of Gpu::cpus
    socket  ///< also those of its socket that are local to no GPU of the node (SNC, NPS)
};

/// The CPUs of each of the step's GPUs (positions in Node::gpus), in the order of `gpus`.
///
/// Whole cores, both threads together, within `granted`.  No two shares meet and every granted core
/// near a GPU is in one, unless some GPUs have fewer cores near them than they are: these share
/// what is near each, by threads where that goes round (`Share::gpus` says how many).  GPUs with
/// the same local CPUs get contiguous runs, sizes differing by one core at most.  A GPU without
/// granted CPUs near it gets an empty set.
[[nodiscard]] std::vector<Share> share_cpus(const node::Node& node,
                                            const std::vector<std::size_t>& gpus,
                                            const CpuSet& granted, Reach reach = Reach::local);

}  // namespace railhead::affinity
