#include "places.hpp"

namespace railhead::cli {

void add_places(CLI::App& command, policy::Places& places) {
    command.add_option("--policy", places.policy, "Policy (default: railhead.toml beside slurm.conf)");
    command.add_option("--slurm-conf", places.slurm_conf_said, "slurm.conf of the cluster");
    command.add_option("--topology", places.topology,
                       "topology.conf or topology.yaml (default: beside slurm.conf)");
}

}  // namespace railhead::cli
