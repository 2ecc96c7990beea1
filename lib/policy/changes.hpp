// What a review writes to a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace railhead::policy {

/// A variable of the batch job's environment.
struct Variable {
    const char* name = "";
    std::string value;
};

/// --signal: what Slurm sends before the time limit, and at preemption where it is asked to.
struct Warning {
    std::uint16_t signal = 0;
    std::uint16_t seconds = 0;  ///< before the end
    bool batch = false;         ///< "B:", to the batch script alone; else to the tasks of its steps
};

/// New values for fields of the job; what is unset stays as the user has it.
struct Changes {
    std::optional<std::uint32_t> min_nodes, max_nodes;
    bool exclusive = false;                   ///< --exclusive
    std::optional<std::uint32_t> cpus_per_task;  ///< keeps stock's task layout on whole nodes
    std::optional<std::uint32_t> tasks;          ///< likewise
    std::optional<std::uint32_t> switches;
    std::optional<std::uint32_t> switch_wait_s;
    std::optional<std::uint16_t> segment;
    std::optional<std::string> prefer;           ///< --prefer
    std::optional<std::string> exclude;          ///< -x: the user's, and more
    std::vector<Variable> environment;           ///< added, in place of what is there by the name
    std::optional<Warning> warning;              ///< --signal
    bool requeue = false;                        ///< --requeue
    bool append = false;                         ///< --open-mode=append
    std::optional<std::uint32_t> time_limit_min; ///< --time; lowered, never raised

    [[nodiscard]] bool any() const;
};

}  // namespace railhead::policy
