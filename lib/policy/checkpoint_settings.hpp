// What a site can decide about checkpoints: read at submission, and on the nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/wish.hpp"
#include "policy/mode.hpp"

namespace railhead::policy {

/// What to do about a large job that does not say that it can checkpoint and resume.
enum class Undeclared : std::uint8_t {
    ignore,
    advise,
    refuse,
    cap  ///< its time limit
};

/// What to do about an interval of the user's that is too long.
enum class LongInterval : std::uint8_t { ignore, advise, refuse };

struct CheckpointSettings {
    Mode mode = Mode::observe;
    std::uint32_t min_nodes = 2;  ///< jobs of so many nodes, or more, are told their interval

    /// What goes into the interval; unset: as checkpoint::usual() has it.
    std::optional<double> per_1000_node_days;
    std::optional<std::uint32_t> cost_s, step_s, restart_s;

    Undeclared undeclared = Undeclared::ignore;
    std::uint32_t declare_above = 0;      ///< nodes; larger jobs are to declare
    std::uint32_t undeclared_time_s = 0;  ///< Undeclared::cap: the most that others may run

    LongInterval long_interval = LongInterval::advise;
    double most_interval = 3;  ///< times the interval that pays

    /// Variables of a job's environment by which it declares; null: none.  Shared, since every
    /// review copies the settings.
    std::shared_ptr<const std::vector<std::string>> declares;

    // For jobs that declare.
    std::optional<int> signal;  ///< for those that name none; unset: they get none
    checkpoint::Target signal_to = checkpoint::Target::unsaid;  ///< unsaid: "auto", by the script
    bool requeue = true;
    bool append = true;          ///< --open-mode=append: a restart keeps the output before it
    bool clock = false;          ///< a program on the nodes signals, at every interval
    std::uint32_t attempts = 3;  ///< failures in a row before the job is held; 0: never
};

}  // namespace railhead::policy
