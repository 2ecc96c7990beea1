// What a user can say to Railhead: seven options of srun, sbatch and salloc, and a variable each.
//
//     --railhead=on|off          RAILHEAD                everything, the rules at submission too
//     --rail=auto|off            RAILHEAD_RAIL           NICs of NCCL and UCX
//     --gpu-affinity=auto|off    RAILHEAD_GPU_AFFINITY   CPUs
//     --mp-group=N               RAILHEAD_MP_GROUP       nodes of a model-parallel group
//     --ckpt-interval=auto|TIME  RAILHEAD_CKPT_INTERVAL  time between two checkpoints
//     --ckpt-signal=SIG[@WHERE]  RAILHEAD_CKPT_SIGNAL    the clock's signal, and who gets it
//     --ckpt-dir=DIR             RAILHEAD_CKPT_DIR       where the job writes its checkpoints
//
// The option counts before the variable, the variable before plugstack.conf.  slurmctld's plugin
// reads --railhead, --mp-group and those of checkpoints from the job's SPANK environment, so the
// variables are copied there at submission.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "checkpoint/variables.hpp"
#include "rails/plugin_arguments.hpp"
#include "session.hpp"

namespace railhead::spank {

/// The variables, in the order of the table above.
inline constexpr std::array variables{"RAILHEAD",
                                      "RAILHEAD_RAIL",
                                      "RAILHEAD_GPU_AFFINITY",
                                      "RAILHEAD_MP_GROUP",
                                      checkpoint::variable::interval,
                                      checkpoint::variable::signal,
                                      checkpoint::variable::folder};

/// "on" and its like are true, "off" and its like false; nothing else is a switch.
[[nodiscard]] std::optional<bool> parse_switch(std::string_view text);

/// Registers the options; call it in slurm_spank_init, in every context.
void register_options(spank_t handle);

/// What holds for a job when all has been said.
struct Choice {
    bool railhead = true;
    bool rail = true;
    bool gpu_affinity = true;
    /// As they were written; nothing where `railhead` is off.
    std::optional<std::string> ckpt_interval, ckpt_signal, ckpt_dir;
};

/// Looks up one of `variables`.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// Whether RAILHEAD_CKPT_INTERVAL is what a step around this one was told, and no wish.
[[nodiscard]] bool tells_interval(const Lookup& lookup);

/// Whether anybody spoke of checkpoints to this job: the user, or Railhead at submission.
[[nodiscard]] bool speaks_of_checkpoints(const Choice& choice, const Lookup& lookup);

/// The options given, then the variables, then the arguments of plugstack.conf.
/// Fails with `bad_input` on a variable with a value that its option would refuse.
[[nodiscard]] Result<Choice> choose(const rails::PluginArguments& arguments, const Lookup& lookup);

/// The same in slurmstepd.  A variable that the job's environment lacks (--export=NONE) may still be
/// in the copy that sbatch sent along.
[[nodiscard]] Result<Choice> choice_of(const rails::PluginArguments& arguments,
                                       const Session& session);

}  // namespace railhead::spank
