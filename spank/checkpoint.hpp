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
    checkpoint::Launch launch;
    std::uint32_t nodes = 1;                       ///< that fail together
    std::optional<checkpoint::SignalWish> signal;  ///< of the clock; nothing: there is none
    std::string folder;          ///< that is to be watched, absolute; "": none
    std::uint32_t attempts = 0;  ///< failures in a row before the job is held; 0: never
};

/// In slurmstepd, as the user: sets the variables.  Nothing where the step is not concerned, and
/// then what a step around it was told is taken away where the job is to be left alone.
[[nodiscard]] std::optional<CheckpointStep> tell_checkpoints(
    const Session& session, const rails::PluginArguments& arguments, SitePolicy& policy,
    bool has_gpus);

}  // namespace railhead::spank
