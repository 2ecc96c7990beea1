// What the tasks of a step are told of checkpoints.
//
// Not for steps with GPUs alone: a batch script without any may start those that have some, and a
// job that says it checkpoints is believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/launch.hpp"
#include "checkpoint/wish.hpp"
#include "node_policy.hpp"
#include "options.hpp"
#include "session.hpp"

namespace railhead::spank {

/// What holds for the checkpoints of a step.
struct CheckpointStep {
    checkpoint::LaunchFacts facts;
    checkpoint::Launch launch;                     ///< once it is told
    bool is_endless = false;                       ///< the job is known to have no end
    std::optional<checkpoint::SignalWish> signal;  ///< of the clock; nothing: there is none
    std::string folder;          ///< that is to be watched, absolute; "": none
    std::uint32_t attempts = 0;  ///< failures in a row before the job is held; 0: never
};

/// In slurmstepd, as the user: what is wished for the step.  Nothing where it is not concerned; what
/// a step around it was told is taken away where the job is to be left alone.
[[nodiscard]] std::optional<CheckpointStep> plan_checkpoints(
    const Session& session, const rails::PluginArguments& arguments, SitePolicy& policy,
    bool has_gpus);

/// Sets the variables.  For all tasks at once in slurmstepd; for a batch step in its task's process,
/// since Slurm tells only there how often it was requeued and, on later releases, when it ends.
/// Fails as checkpoint::plan_launch(), and then takes away what a step around this one was told.
[[nodiscard]] Result<void> tell_checkpoints(const Session& session, CheckpointStep& step);

}  // namespace railhead::spank
