// The site's policy: what railhead.toml says, as plain values.
//
// One setting per decision a site may want to make.  Settings come in three layers, each
// overlaying the one before: the top of the file, [partition.NAME], and every [[rule]] whose
// `match` fits the job, in the order of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/wish.hpp"
#include "policy/gate_targets.hpp"
#include "policy/settings.hpp"
#include "rails/node_type.hpp"

namespace railhead::policy {

/// What reaches the user's terminal.
enum class Notes : std::uint8_t {
    never,    ///< nothing but refusals
    changes,  ///< what was changed, and advice on what costs the job speed
    all       ///< also why a job was left as it is
};

/// The part of an Overlay that lies over CheckpointSettings.
struct CheckpointOverlay {
    std::optional<Mode> mode;
    std::optional<std::uint32_t> min_nodes;
    std::optional<double> per_1000_node_days;
    std::optional<std::uint32_t> cost_s, step_s, restart_s;
    std::optional<Undeclared> undeclared;
    std::optional<std::uint32_t> declare_above, undeclared_time_s;
    std::optional<LongInterval> long_interval;
    std::optional<double> most_interval;
    std::shared_ptr<const std::vector<std::string>> declares;  ///< null: unset
    std::optional<int> signal;  ///< 0: none
    std::optional<checkpoint::Target> signal_to;
    std::optional<bool> requeue, append, clock;
    std::optional<std::uint32_t> attempts;
};

/// A layer over Settings: what is unset shows the layer below.
struct Overlay {
    std::optional<bool> enabled;
    std::optional<Mode> mode;  ///< for every rule that this layer does not name
    std::optional<Mode> gang_mode, placement_mode, lemons_mode;
    std::optional<Exclusive> exclusive;
    std::optional<Partial> partial;
    std::optional<bool> isolation_note;
    std::optional<bool> sockets_note;
    std::optional<std::uint32_t> gpus_per_node;
    std::optional<bool> override_user;
    std::optional<Price> price;
    std::optional<double> communication, below_leaf;
    std::optional<std::uint32_t> run_time_s, wait_least_s, wait_most_s;
    std::optional<std::string> set_aside;
    std::optional<std::uint32_t> model_parallel_group;
    std::optional<std::uint32_t> lemons_min_nodes;
    CheckpointOverlay checkpoint;
};
void apply(const Overlay& overlay, Settings& settings);

struct PartitionOverlay {
    std::string partition;
    Overlay overlay;
    Position where;
};

/// A [[rule]]: an overlay for the jobs that `match` describes.  Empty patterns match every job.
struct Rule {
    std::string name;
    std::vector<std::string> partitions, accounts, qos;  ///< globs; any of them
    std::uint64_t min_gpus = 0, max_gpus = UINT64_MAX;   ///< both inclusive
    Overlay overlay;
};

struct Policy {
    Notes notes = Notes::changes;
    bool user_off = true;        ///< may a user say --railhead=off?
    Overlay global;
    std::vector<PartitionOverlay> partitions;
    std::vector<Rule> rules;
    std::vector<rails::NodeType> node_types;  ///< in the order of the file
    GateTargets gate;            ///< for `railhead gate` alone: no review looks at it
    std::string slurm_conf;      ///< default: SLURM_CONF, else /etc/slurm/slurm.conf
    std::string topology;        ///< default: topology.conf beside slurm.conf
    std::string lemons;          ///< default: railhead.lemons beside slurm.conf
};

/// What a [[rule]] is matched with.
struct JobKind {
    std::string_view partition, account, qos;
    std::uint64_t gpus = 0;
};
/// Lays every rule that matches over `settings`, in the order of the file.
void apply_rules(const std::vector<Rule>& rules, const JobKind& job, Settings& settings);

/// All three layers at once, for those who have no Site.
[[nodiscard]] Settings settings_of(const Policy& policy, const JobKind& job);

/// `text` against a shell-like glob of `*` and `?`; no allocation, linear in `text` per `*`.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace railhead::policy
