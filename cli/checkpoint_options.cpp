#include "checkpoint_options.hpp"

#include "some.hpp"

namespace railhead::cli {

void add_job_options(CLI::App& command, CheckpointOptions& options, checkpoint::Question& question,
                     const std::string& group) {
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add("--mtbf", options.mtbf, "Mean time between failures of the job: 24h");
    add("--nodes", question.nodes, "Nodes of the job")->check(some);
    add("--gpus", question.gpus, "Or its GPUs")->check(some);
    add("--gpus-per-node", question.gpus_per_node, "Default: 8")->check(some);
    add("--rate", options.rate,
        "Failures per 1000 node-days, or a published rate: rsc-1, llama-3, ...");
    add("--restart", options.restart, "From a failure to the next step (default: 5m)");
}

void add_size_options(CLI::App& command, CheckpointOptions& options, const std::string& group) {
    const auto add = [&](const char* name, auto& to, const char* help) {
        command.add_option(name, to, help)->group(group);
    };
    add("--params,--model-params", options.params, "Parameters of the model: 70B");
    add("--bytes", options.bytes, "Or the size of a checkpoint: 912GB");
    add("--bytes-per-param", options.bytes_per_param,
        "A number, or a recipe: adam-mixed (default: 14), adam-fp32, ...");
}

void read_failure_rate(const std::optional<std::string>& text, QuantityReader& reader,
                       std::optional<double>& per_1000_node_days,
                       const checkpoint::FailureRate*& published) {
    reader.read_or_name<checkpoint::FailureRate>(
        "--rate", text, per_1000_node_days, published, checkpoint::published_rates(),
        [](const auto& rate) { return rate.per_1000_node_days; });
}

void read_checkpoint(const CheckpointOptions& options, QuantityReader& reader,
                     checkpoint::Question& to) {
    reader.read("--mtbf", options.mtbf, Quantity::duration, to.mtbf_s);
    reader.read("--restart", options.restart, Quantity::duration, to.restart_s);
    reader.read("--cost", options.cost, Quantity::duration, to.cost_s);
    reader.read("--interval", options.interval, Quantity::duration, to.own_interval_s);
    reader.read("--params", options.params, Quantity::count, to.params);
    reader.read("--bytes", options.bytes, Quantity::size, to.bytes);
    reader.read("--process-share", options.process_share, Quantity::share, to.process_share);
    read_failure_rate(options.rate, reader, to.per_1000_node_days, to.published_rate);
    reader.read_or_name<checkpoint::Recipe>(
        "--bytes-per-param", options.bytes_per_param, to.bytes_per_param, to.recipe,
        checkpoint::recipes(), [](const auto& recipe) { return recipe.in_checkpoint(); });
}

}  // namespace railhead::cli
