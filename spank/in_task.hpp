// In a task's own process, between fork and exec: the environment and the CPU mask.
//
// The process is the user's already, has one thread, and its memory counts to the job.
#pragma once

#include "step.hpp"

namespace railhead::spank {

/// The GPUs as the job's environment says now: the step's before the fork, the task's own after.
[[nodiscard]] node::GpuEnvironment gpu_environment(const Session& session);

/// Takes away what a step of ours around this one left, so that nobody reads another's answer.
void clean(const Session& session);

/// Sets what is the same for the whole job: the list of rails, and the site's own.  Nodes may not differ in it, so it
/// does not wait for anything that is known of one task only.  Before the fork it is set for all
/// tasks at once.
void serve_job(const Session& session, const Step& step);

/// The GPUs that a task sees.
struct VisibleGpus {
    std::vector<std::size_t> gpus;   ///< positions in Node::gpus, in the task's order
    std::vector<std::string> words;  ///< of its visible-devices list; beside `gpus` where as many
};

/// Sets all that a task with these GPUs gets, and binds it.
void serve_task(const Session& session, const Step& step, const VisibleGpus& visible);

}  // namespace railhead::spank
