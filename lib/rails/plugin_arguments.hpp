// The arguments of spank_railhead.so in plugstack.conf.
//
//     optional spank_railhead.so topology=/etc/slurm/dgx.xml strict=true
//
// Read by the plugin in every command and daemon, and by `railhead check`.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "rails/node_type.hpp"

namespace railhead::rails {

/// Where packages put railhead-ckpt.
[[nodiscard]] std::string installed_helper();

struct PluginArguments {
    std::string topology;           ///< topology=FILE: a recorded node, of any kind; "": look
    std::vector<std::string> nics;  ///< nics=a,b: the rails of this type of node, declared
    std::string nccl_conf = "/etc/nccl.conf";  ///< nccl_conf=FILE: the site's file on the node
    std::string policy;                        ///< policy=FILE; "": beside slurm.conf
    std::string cache = "/run/railhead";  ///< cache=DIR|off: where facts are kept; "": nowhere
    std::string helper = installed_helper();  ///< helper=FILE|off: railhead-ckpt; "": none
    bool rail = true;                          ///< rail=auto|off
    bool gpu_affinity = true;                  ///< gpu_affinity=auto|off
    Memory memory = Memory::prefer;  ///< memory=prefer|bind|off
    bool omp_cores = false;  ///< omp_num_threads=off|cores: set OMP_NUM_THREADS
    bool user_off = true;  ///< user_off=true|false: may a job turn the plugin off?
    Health health = Health::note;  ///< health=off|note|warn|strict
    std::string root = "/";  ///< root=DIR: sys and proc lie below it; for tests of a set-up
    bool strict = false;   ///< strict=true|false: trouble of ours fails the task
    bool verbose = false;  ///< verbose, verbose=true|false: say what was done
};

/// Fails with `bad_input` on the first unknown key, bad value, or key that stands twice; the
/// message quotes the argument and names the nearest key or the values there are.
[[nodiscard]] Result<PluginArguments> parse_plugin_arguments(
    const std::vector<std::string>& arguments);

}  // namespace railhead::rails
