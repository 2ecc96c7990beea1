// Inside of the checkpoint rule: whether Slurm is to signal a job before its end, and whom.
//
// Slurm's signal asks nobody whether he catches it, and who does not dies of it.  So it is written
// only where the program that is hit is one that the user had in mind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/wish.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

/// What is to be sent.
struct SignalAsk {
    int number = 0;
    checkpoint::Target target = checkpoint::Target::unsaid;  ///< of the site; has to fit the script
    double lead_s = 0;                                       ///< as checkpoint::Schedule has it
    std::optional<std::uint64_t> limit_s;  ///< the least that the job may run; unset: no limit
};

struct SignalPlan {
    std::optional<Warning> warning;
    std::string reason;  ///< why there is none
};

/// Nobody of a heterogeneous job: no more than its first component has the script, and a part of
/// its tasks must not be signalled alone.  Never the tasks where Slurm would also hit their
/// children: data loaders.  Never earlier than the job starts.
[[nodiscard]] SignalPlan plan_signal(const Work& work, const SignalAsk& ask);

/// Why a job of this limit has no time for a last checkpoint that is called for `early_s` before it
/// has to begin; empty: it has.
[[nodiscard]] std::string too_short(const SignalAsk& ask, double early_s);

}  // namespace railhead::policy
