// The site's policy: what railhead.toml says, as plain values.
//
// One setting per decision a site may want to make.  Settings come in three layers, each
// overlaying the one before: the top of the file, [partition.NAME], and every [[rule]] whose
// `match` fits the job, in the order of the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace railhead::policy {

/// How far a rule goes.
enum class Mode : std::uint8_t {
    observe,  ///< log what would change
    advise,   ///< also tell the user
    enforce   ///< change the job, and tell the user
};

/// What reaches the user's terminal.
enum class Notes : std::uint8_t {
    never,    ///< nothing but refusals
    changes,  ///< what was changed, and advice on what costs the job speed
    all       ///< also why a job was left as it is
};

/// Whether a gang gets its nodes to itself.
enum class Exclusive : std::uint8_t {
    when_safe,  ///< "auto": unless accounting limits could then refuse the job
    always,     ///< true
    never       ///< false
};

/// What to do about GPUs that do not fill whole nodes.
enum class Partial : std::uint8_t { advise, refuse, ignore };

struct GangSettings {
    Mode mode = Mode::observe;
    Exclusive exclusive = Exclusive::when_safe;
    Partial partial = Partial::advise;
    bool isolation_note = true;   ///< tell users that --gpus-per-task hides peer GPUs from NCCL
    std::uint32_t gpus_per_node = 0;  ///< 0: as slurm.conf says
};

/// What says how long a job waits for the least leaves.
enum class PriceFrom : std::uint8_t {
    guess,             ///< nothing does: a guess of ours
    slowdown,          ///< the share by which a wider job slows
    bus_bandwidth,     ///< all-reduce bandwidth within one leaf, across leaves, across what is above
    oversubscription,  ///< of the uplinks of a leaf, of what is above
    wait,              ///< no price, but a fixed time
    user               ///< no price, but the user's own time (SBATCH_WAIT4SWITCH)
};

/// The most levels of switches that a policy can tell apart.
constexpr std::size_t most_levels = 8;

/// One of the four keys that say what waiting is worth, as it was written.
struct Price {
    PriceFrom from = PriceFrom::guess;
    std::array<double, most_levels> by_level{};  ///< shares, GB/s or ratios; the leaf level first
    std::size_t levels = 0;                      ///< how many of by_level were written
    std::uint32_t wait_s = 0;                    ///< PriceFrom::wait alone
};

struct PlacementSettings {
    Mode mode = Mode::observe;
    bool override_user = false;      ///< replace the user's own --switches and --segment
    Price price;
    double communication = 0;        ///< share of a step that is communication and not hidden
    std::uint32_t run_time_s = 8 * 3600;  ///< assumed where the time limit tells nothing
    std::uint32_t wait_least_s = 0;  ///< clamps of the priced wait
    std::uint32_t wait_most_s = 3600;
    std::string set_aside;           ///< feature of the nodes for jobs smaller than a leaf; empty: none
    std::uint32_t model_parallel_group = 0;  ///< nodes that must share a block; 0: as the job declares
};

struct Settings {
    bool enabled = true;
    GangSettings gang;
    PlacementSettings placement;
};

/// A layer over Settings: what is unset shows the layer below.
struct Overlay {
    std::optional<bool> enabled;
    std::optional<Mode> mode;  ///< for every rule that this layer does not name
    std::optional<Mode> gang_mode, placement_mode;
    std::optional<Exclusive> exclusive;
    std::optional<Partial> partial;
    std::optional<bool> isolation_note;
    std::optional<std::uint32_t> gpus_per_node;
    std::optional<bool> override_user;
    std::optional<Price> price;
    std::optional<double> communication;
    std::optional<std::uint32_t> run_time_s, wait_least_s, wait_most_s;
    std::optional<std::string> set_aside;
    std::optional<std::uint32_t> model_parallel_group;
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
    std::string slurm_conf;      ///< default: SLURM_CONF, else /etc/slurm/slurm.conf
    std::string topology;        ///< default: topology.conf beside slurm.conf
};

/// `text` against a shell-like glob of `*` and `?`; no allocation, linear in `text` per `*`.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

[[nodiscard]] std::string_view to_string(Mode mode);

}  // namespace railhead::policy
