// Small clusters made by hand, for tests of the review.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/cluster.hpp"
#include "fabric/fabric.hpp"
#include "policy/policy.hpp"
#include "policy/site.hpp"

namespace railhead::test {

struct ClusterShape {
    std::uint32_t nodes = 8;
    std::uint32_t gpus = 8;
    std::uint32_t cpus = 64;
    std::uint32_t threads = 1;
    std::uint64_t memory_mb = 1'000'000;
    std::uint32_t leaves = 2;  ///< of equal size; 0: no fabric
    fabric::Kind kind = fabric::Kind::tree;
    std::vector<std::uint32_t> block_sizes{4};
};

/// One default partition "main" of nodes n1, n2, …
[[nodiscard]] fabric::Cluster make_cluster(const ClusterShape& shape);
[[nodiscard]] fabric::Fabric make_fabric(const ClusterShape& shape);
/// Sorts the name index after nodes were added or renamed.
void index_nodes(fabric::Cluster& cluster);

/// A site of that cluster under the policy text `toml`, which must be right.
[[nodiscard]] policy::Site make_site(const std::string& toml, const ClusterShape& shape = {});

}  // namespace railhead::test
