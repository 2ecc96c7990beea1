// Finds railhead.toml and reads it, and nothing else: for those who need the policy alone.
//
// The plugin on the nodes reads it at every step, so neither slurm.conf nor the topology is looked
// at.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "policy/policy.hpp"

namespace railhead::policy {

/// Where things are looked for.  Empty: the default, in the order that each comment gives.
struct Places {
    std::string policy;  ///< RAILHEAD_POLICY, else railhead.toml beside slurm.conf, else /etc/slurm
    std::string
        slurm_conf;  ///< the policy's slurm_conf, else SLURM_CONF, else /etc/slurm/slurm.conf
    std::string slurm_conf_said;  ///< said on a command line: wins over the policy's slurm_conf
    std::string topology;  ///< the policy's topology, else topology.yaml beside slurm.conf, else
                           ///< topology.conf there
};

/// The defaults for this process, from its environment; slurmctld's own "-f FILE" counts too.
[[nodiscard]] Places default_places();

struct LoadedPolicy {
    std::optional<Policy> policy;  ///< unset when there is none, or a broken one
    std::string path;              ///< the file that was read, or looked for last
    bool absent = false;           ///< there is no such file, and none was named
    std::vector<Error> errors;     ///< why `policy` is unset
};

/// Reads the policy through `read`, which fails with `not_found` where there is no such file.
[[nodiscard]] LoadedPolicy load_policy(
    const Places& places, const std::function<Result<std::string>(const std::string& path)>& read);

/// Who besides root may own what the plugins act on: whose slurm.conf it is, and root where there
/// is none.  Who may write slurm.conf could do all that a policy can; on most sites that is root or
/// SlurmUser.
[[nodiscard]] uid_t trusted_owner(const std::string& slurm_conf);

/// The file `name` in the folder of the file `path`.
[[nodiscard]] std::string beside(const std::string& path, std::string_view name);

}  // namespace railhead::policy
