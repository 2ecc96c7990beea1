// What a node found out about one step, for its tasks.
//
// Made once in slurmstepd; each task's process has its own copy from the fork and only reads it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "affinity/task_gpus.hpp"
#include "claims.hpp"
#include "node/gpu_identity.hpp"
#include "node/node.hpp"
#include "options.hpp"
#include "rails/environment.hpp"
#include "rails/rail_plan.hpp"
#include "session.hpp"

namespace railhead::spank {

struct Step {
    rails::PluginArguments arguments;
    Choice choice;
    StepKind kind = StepKind::step;
    std::string node_name;  ///< in slurm.conf
    node::Node node;
    rails::RailPlan plan;
    std::optional<rails::NodeType> type;  ///< of this node in the site's policy
    std::string declared_by;              ///< whose list of rails the plan has; empty: found here
    std::vector<rails::FileSetting> files;  ///< variables that files of NCCL set
    affinity::StepTasks tasks;
    rails::Memory memory = rails::Memory::prefer;
    bool omp_cores = false;          ///< OMP_NUM_THREADS is to be set
    bool user_binds = false;         ///< --cpu-bind was given
    bool user_binds_memory = false;  ///< --mem-bind was given
    std::unique_ptr<const Claims> claims;
    std::string unhealthy;  ///< what is wrong with the rails, where the site wants to know
    std::string trouble;    ///< why the tasks cannot be served, to be told by the first one
};

}  // namespace railhead::spank
