// The environment that says a RailPlan to NCCL, UCX and their like, and what is left to others.
//
// NCCL_IB_HCA is one exact list for the whole job: a list per rank breaks NCCL's rail matching.
// UCX_NET_DEVICES is for one task: the NICs of its own GPUs.  The rest is the site's, by its type
// of node.  For each variable the first who says something wins: the user's environment, the user's
// file of NCCL, the machine's, the policy, what was found on the node.  `railhead rails --why`
// shows the whole ladder, so it is worked out in one place for both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rails/node_type.hpp"
#include "rails/own_marks.hpp"
#include "rails/rail_plan.hpp"

namespace railhead::rails {

/// Who can set a variable, the strongest first.
enum class Rung : std::uint8_t {
    user,       ///< the environment
    user_file,  ///< $NCCL_CONF_FILE, else ~/.nccl.conf
    site_file,  ///< /etc/nccl.conf
    policy,     ///< the type of the node in railhead.toml
    automatic   ///< what was found on the node
};
[[nodiscard]] std::string_view to_string(Rung rung);  ///< "environment", "user's file", …

/// A variable that a file of NCCL's sets.
struct FileSetting {
    std::string name;
    std::optional<std::string> value;  ///< unset: only that it is set is known
    Rung rung = Rung::site_file;
    std::string by;  ///< "/etc/nccl.conf"
};

/// What one of those who can set a variable says of it.
struct Word {
    Rung rung = Rung::automatic;
    std::string by;                    ///< "the environment", `node type "h100"`
    std::optional<std::string> value;  ///< unset: not known, or to be left unset
    std::string reason;                ///< why it is to be left unset: "this node has no rails"
};

/// A variable and all that is said of it, the strongest first: the first word counts.
struct Verdict {
    std::string name;
    std::vector<Word> words;
};

/// What the environment of one task is made of.
struct Launch {
    const node::Node& node;
    const RailPlan& plan;
    const std::vector<std::size_t>& nics;   ///< that the task sends through
    const std::vector<FileSetting>& files;  ///< of NCCL, the user's first
    const Lookup& environment;
    const NodeType* type = nullptr;  ///< of this node, if the policy has one
    std::string_view
        declared_by{};  ///< whose list `plan` has: `node type "h100"`; empty: found here
    /// False for batch and interactive steps, whose environment the job's own steps inherit: only
    /// what is equal for the whole job is set.
    bool per_task = true;
    const RailPlan* found = nullptr;  ///< without the declared list, to show what it replaces
};

/// All that is said of the variable `name`; no words: nobody says anything.
[[nodiscard]] Verdict judge(std::string_view name, const Launch& launch);

/// The variables that Railhead may set here: its own table, then the site's in `type`.
[[nodiscard]] std::vector<std::string> variables_of(const NodeType* type);

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
    std::string silence;      ///< why NCCL and UCX are not told NICs: "this node has no rails"
};

/// What is to be set for a task.
///
/// Devices that NCCL and UCX do not reach through InfiniBand verbs (Amazon's EFA, HPE's Slingshot,
/// Microsoft's MANA) get no variable.
///
/// Besides: RAILHEAD_RAILS (the list), RAILHEAD_NIC (the task's), and RAILHEAD_SET for the steps
/// inside.  What an outer step of ours left behind does not count as the user's word.
[[nodiscard]] EnvironmentPlan plan_environment(const Launch& launch);

/// Takes away what an outer step of ours left in the environment; the user's own stays.
[[nodiscard]] std::vector<Change> clean_environment(const Lookup& environment);

}  // namespace railhead::rails
