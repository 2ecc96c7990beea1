// What may be known of a job whose checkpoint interval is asked for.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "checkpoint/cost.hpp"
#include "checkpoint/mtbf.hpp"

namespace railhead::checkpoint {

/// All of it may be missing; recommend() says what cannot be.
struct Question {
    // How often the gang fails: one of mtbf_s, failures with observed_s, or nodes (or gpus), with a
    // rate or without.
    std::optional<double> mtbf_s;
    std::optional<std::uint64_t> nodes, gpus, gpus_per_node;
    std::optional<double> per_1000_node_days;
    const FailureRate* published_rate = nullptr;  ///< where the rate is one that has a name
    std::optional<std::uint64_t> failures;
    std::optional<double> observed_s;
    std::optional<std::uint64_t> observed_nodes;  ///< where it was not on as many as the job has

    // What a checkpoint costs: how long training stands still, or the size and the bandwidth; with
    // all, what the cost leaves of the write goes on in the background.
    std::optional<double> cost_s;
    std::optional<double> bytes, params, bytes_per_param;
    const Recipe* recipe = nullptr;  ///< where bytes_per_param is one that has a name
    std::optional<double> bytes_per_s, node_bytes_per_s;  ///< of the storage, of one node
    std::optional<std::uint64_t> writers;

    std::optional<double> restart_s;
    std::optional<double> time_limit_s;
    std::optional<double> step_s;
    std::optional<double> own_interval_s;

    // Copies in memory beside those on storage.
    std::optional<double> memory_cost_s;
    std::optional<double> memory_restart_s;
    std::optional<double> process_share;  ///< of the failures, that a copy in memory survives
};

/// Fails with `bad_input` where a figure means nothing, two say the same, or one says nothing
/// without another that is missing.
[[nodiscard]] Result<void> check_question(const Question& question);

}  // namespace railhead::checkpoint
