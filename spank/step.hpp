// What a node found out about one step, for its tasks.
//
// Made once in slurmstepd; each task's process has its own copy from the fork and only reads it.
#pragma once

#include <memory>
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
    node::Node node;
    rails::RailPlan plan;
    std::vector<rails::Owner> conf;  ///< variables that files of NCCL set
    affinity::StepTasks tasks;
    rails::MemoryPolicy memory = rails::MemoryPolicy::prefer;
    bool omp_cores = false;          ///< OMP_NUM_THREADS is to be set
    bool user_binds = false;         ///< --cpu-bind was given
    bool user_binds_memory = false;  ///< --mem-bind was given
    std::unique_ptr<const Claims> claims;
    std::string unhealthy;  ///< what is wrong with the rails, where the site wants to know
    std::string trouble;    ///< why the tasks cannot be served, to be told by the first one
};

}  // namespace railhead::spank
