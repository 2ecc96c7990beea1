// What a site can decide about a job: one setting a decision, each with its default.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "policy/checkpoint_settings.hpp"
#include "policy/mode.hpp"

namespace railhead::policy {

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
    bool sockets_note = true;     ///< tell users when CPUs may lie on one socket, GPUs on two
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
    double below_leaf = 4;           ///< how many times the price jobs smaller than a leaf wait
    std::string set_aside;           ///< feature of the nodes for jobs smaller than a leaf; empty: none
    std::uint32_t model_parallel_group = 0;  ///< nodes that must share a block; 0: as the job declares
};

struct LemonSettings {
    Mode mode = Mode::observe;
    std::uint32_t min_nodes = 2;     ///< gangs of so many nodes, or more, avoid lemons
};

struct Settings {
    bool enabled = true;
    GangSettings gang;
    PlacementSettings placement;
    LemonSettings lemons;
    CheckpointSettings checkpoint;
};

}  // namespace railhead::policy
