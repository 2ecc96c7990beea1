// What railhead ckpt and railhead storage both ask of a job and of its checkpoints.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "checkpoint/mtbf.hpp"
#include "checkpoint/question.hpp"
#include "quantity_reader.hpp"

namespace railhead::cli {

/// As typed: units are read when all options are there.
struct CheckpointOptions {
    std::optional<std::string> mtbf, rate, restart, params, bytes, bytes_per_param, cost, interval,
        process_share;
};

/// Adds --mtbf, --nodes, --gpus, --gpus-per-node, --rate and --restart.
void add_job_options(CLI::App& command, CheckpointOptions& options, checkpoint::Question& question,
                     const std::string& group);

/// Adds --params, --bytes and --bytes-per-param.
void add_size_options(CLI::App& command, CheckpointOptions& options, const std::string& group);

/// Reads --rate: failures in 1000 node-days, or a published rate, which gives them.
void read_failure_rate(const std::optional<std::string>& text, QuantityReader& reader,
                       std::optional<double>& per_1000_node_days,
                       const checkpoint::FailureRate*& published);

/// Reads what was typed into `to`.
void read_checkpoint(const CheckpointOptions& options, QuantityReader& reader,
                     checkpoint::Question& to);

}  // namespace railhead::cli
