// What the site's policy says about the node that we are on.
//
// railhead.toml lies beside slurm.conf on the nodes too; of it, the launch needs [[node_type]] and
// [checkpoint].
#pragma once

#include <optional>
#include <string>

#include "policy/policy.hpp"
#include "rails/node_type.hpp"
#include "rails/plugin_arguments.hpp"

namespace railhead::spank {

/// The policy as a node has it, read when it is first asked for.
///
/// The file of `policy=`, else the one beside slurm.conf; that there is none is no trouble.  It must
/// belong to root, or to the owner of slurm.conf, and only its owner may write it; since this runs
/// as the job's user, everybody must be able to read it.
class SitePolicy {
 public:
    explicit SitePolicy(const rails::PluginArguments& arguments) : file_{arguments.policy} {}

    /// Null where there is none, or a broken one.
    [[nodiscard]] const policy::Policy* get();
    /// Why it cannot be read, for the log; "": it can, or there is none.  Once get() was called.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
    std::string file_;
    bool is_read_ = false;
    std::optional<policy::Policy> policy_;
    std::string trouble_;
};

/// The type of the node of this name, if the policy has one.
[[nodiscard]] std::optional<rails::NodeType> type_of_node(SitePolicy& policy,
                                                          const std::string& node_name);

}  // namespace railhead::spank
