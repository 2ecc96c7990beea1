// Whether the installed plugins, plugstack.conf and what it names fit the installed Slurm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/check.hpp"

namespace railhead::cli {

/// The Slurm that is installed there: the version of one of its own plugins.
[[nodiscard]] std::optional<std::uint32_t> slurm_version(
    const std::vector<std::string>& plugin_dirs);

/// Whether the plugin for slurmctld, where it is here, was built for the Slurm `slurm`.
void check_job_submit(const std::vector<std::string>& plugin_dirs, std::uint32_t slurm,
                      std::vector<policy::Finding>& findings);

/// The lines of the plugstack.conf `file` that name the plugin for nodes, and that plugin.
void check_plugstack(const std::string& file, const std::vector<std::string>& plugin_dirs,
                     std::uint32_t slurm, std::vector<policy::Finding>& findings);

/// Whether the plugin would run the program beside tasks: one that is missing, or that others than
/// root could have written, is not run.
void check_helper(const std::string& plugstack, const std::string& slurm_conf,
                  std::vector<policy::Finding>& findings);

/// Whether the plugin on the nodes would take the recorded node that it is given, where that file
/// is here too.
void check_recorded_node(const std::string& plugstack, const std::string& slurm_conf,
                         std::vector<policy::Finding>& findings);

}  // namespace railhead::cli
