// What tests of how CPUs are dealt out share: nodes by their cores, and all of their GPUs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "affinity/binding.hpp"
#include "affinity/share.hpp"
#include "node/node.hpp"
#include "support/nodes.hpp"

namespace railhead::test::shares {

using node::Node;
using Positions = std::vector<std::size_t>;

inline affinity::Binding bind(const Node& node, const affinity::StepTasks& step,
                              const affinity::TaskGpus& task, const affinity::Grant& grant) {
    return affinity::bind_task(node, affinity::share_step(node, step, grant), task, grant);
}

/// `cores` cores of `threads` threads and a GPU for each set of local CPUs.
inline Node node_of(unsigned cores, unsigned threads, const std::vector<std::string>& near) {
    auto node = node_with(std::vector<std::vector<node::Path>>(near.size()));
    add_cores(node, cores, threads, near);
    return node;
}

inline Positions all_gpus(const Node& node) {
    Positions all(node.gpus.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = i;
    }
    return all;
}

}  // namespace railhead::test::shares
