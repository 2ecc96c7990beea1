// The GPUs that gres.conf lists.
//
// How many GPUs a node has is slurm.conf's to say (Gres=); gres.conf adds their types, and
// tells when the two disagree, which drains nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fabric/conf_file.hpp"

namespace railhead::fabric {

/// What one line of gres.conf says of GPUs.
struct GresLine {
    std::vector<std::string> nodes;  ///< NodeName=; empty: every node
    std::string type;                ///< empty: untyped
    /// Count=, else the devices of File=, else 1; 0 when the line leaves it to AutoDetect.
    std::uint64_t count = 0;
    std::string cores;  ///< Cores= or CPUs=, as written
    std::string auto_detect;  ///< AutoDetect= of the line itself
    Position where;
};

struct GresConf {
    std::vector<GresLine> lines;  ///< those with Name=gpu
    std::string auto_detect;      ///< the last AutoDetect= that is for every node; "" when none
};

/// Adds one line of the file.  A line that cannot be read becomes a warning.
void add_gres_line(const ConfReader& reader, const std::vector<ConfItem>& items, GresConf& conf,
                   std::vector<Error>& warnings);

struct Cluster;

/// Types the GPUs that slurm.conf leaves untyped, keeps their Cores=, and warns where the two files
/// disagree.
void apply(const GresConf& conf, Cluster& cluster);

}  // namespace railhead::fabric
