// From files to a Site: finds railhead.toml, slurm.conf, gres.conf and the topology, reads and
// compiles them, and remembers what was read so that a change can be noticed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "policy/load_policy.hpp"
#include "policy/site.hpp"

namespace railhead::policy {

struct Loaded {
    std::shared_ptr<const Site> site;  ///< null when there is no policy, or a broken one
    bool degraded = false;             ///< slurm.conf or the topology could not be read
    bool absent = false;               ///< there is no policy file: nothing is to change
    std::string policy_path;           ///< the file that was read, or looked for last
    std::string slurm_conf_path;
    std::string topology_path;         ///< the file that was read; empty: there is no topology
    std::string lemons_path;           ///< need not be there
    std::size_t lemons = 0;            ///< lines of it that were read
    std::vector<Error> errors;         ///< why `site` is null
    std::vector<Error> warnings;       ///< what was left out of the site
    std::vector<std::pair<std::string, FileStamp>> sources;  ///< every file looked at

    /// Whether a file that was looked at is not as it was.
    [[nodiscard]] bool is_stale() const;
};

/// Loads everything.  With `owner`, the policy must belong to root or to it and be writable by
/// its owner alone; without, any readable file will do (a login node, a test).
[[nodiscard]] Loaded load(const Places& places, std::optional<uid_t> owner);

/// As load() without an owner, for those who ask about the cluster and its fabric alone: there is
/// always a site.  Where the policy is absent or broken, an empty one takes its place, and `errors`
/// become warnings.
[[nodiscard]] Loaded load_cluster(const Places& places);

}  // namespace railhead::policy
