// The environment that says a RailPlan to NCCL and UCX, and what is left to others.
//
// NCCL_IB_HCA is one exact list for the whole job: a list per rank breaks NCCL's rail matching.
// UCX_NET_DEVICES is for one task: the NICs of its own GPUs.  A value that the user or a file of
// NCCL's set stays; one that an outer step of ours left behind does not count as the user's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rails/rail_plan.hpp"

namespace railhead::rails {

/// Looks a variable up in the task's environment.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// A variable that somebody else sets, and who: "the environment", "/etc/nccl.conf".
struct Owner {
    std::string name;
    std::string by;
};

/// One change of the environment; without a value: the variable is taken away.
struct Change {
    std::string name;
    std::optional<std::string> value;
};

struct EnvironmentPlan {
    std::vector<Change> changes;
    std::vector<Owner> kept;  ///< what we would have set, and whose word counts instead
    std::string silence;      ///< why NCCL and UCX are told nothing: "this node has no rails"
};

/// Whose variables these are, for a task that sends through `nics`.
///
/// `conf` are the variables of NCCL's files and the file of each.  With `per_task` false (batch
/// and interactive steps, whose environment the job's own steps inherit) only what is equal for
/// the whole job is set.  Devices that do not speak InfiniBand verbs (Amazon's EFA, Slingshot)
/// get no variable: NCCL reaches them through libfabric.
///
/// Besides: RAILHEAD_RAILS (the list), RAILHEAD_NIC (the task's).
[[nodiscard]] EnvironmentPlan plan_environment(const node::Node& node, const RailPlan& plan,
                                               const std::vector<std::size_t>& nics,
                                               const std::vector<Owner>& conf,
                                               const Lookup& environment, bool per_task = true);

/// Takes away what an outer step of ours left in the environment; the user's own stays.
[[nodiscard]] std::vector<Change> clean_environment(const Lookup& environment);

}  // namespace railhead::rails
