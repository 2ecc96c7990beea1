// The PartitionName= and NodeSet= lines of slurm.conf.
//
// They name nodes, which may be defined further down: so lines are kept first, and made into
// partitions when all nodes are known.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "fabric/cluster.hpp"
#include "fabric/conf_tree.hpp"

namespace railhead::fabric {

class PartitionLines {
 public:
    /// Takes a line that begins with PartitionName= or NodeSet=.
    void add(const ConfReader& reader, const std::vector<ConfItem>& items,
             std::vector<Error>& warnings);

    /// Adds the partitions to `cluster`, whose nodes are complete and indexed.  `globals`: the
    /// cluster-wide defaults.  Fails on a node list that cannot be read.
    Result<> make(const Settings& globals, Cluster& cluster) const;

 private:
    Settings defaults_;
    std::vector<std::pair<Settings, Settings>> partitions_;  ///< own, and the defaults at its place
    std::vector<Settings> node_sets_;
};

}  // namespace railhead::fabric
