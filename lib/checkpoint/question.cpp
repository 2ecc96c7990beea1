#include "checkpoint/question.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace railhead::checkpoint {

namespace {

/// More is no figure of any cluster, and would not fit what counts.
constexpr double most = 1e18;

/// Numbers of which 0 or less mean nothing, whatever else is asked.
Result<void> check_numbers(const Question& question) {
    const std::pair<std::string_view, std::optional<double>> numbers[] = {
        {"bytes of a checkpoint", question.bytes},         {"parameters", question.params},
        {"bytes per parameter", question.bytes_per_param}, {"a time limit", question.time_limit_s},
        {"a time of observation", question.observed_s},    {"the time of a step", question.step_s},
        {"an interval", question.own_interval_s},
    };
    for (const auto& [what, value] : numbers) {
        if (value && !(*value > 0 && *value <= most)) {
            return fail(Errc::bad_input,
                        fmt::format("{}: {:g} is not more than 0, or too large", what, *value));
        }
    }
    if (question.own_interval_s && question.step_s && *question.own_interval_s < *question.step_s) {
        return fail(Errc::bad_input,
                    fmt::format("an interval of {:g} s is shorter than one step of {:g} s: a "
                                "checkpoint is written between steps",
                                *question.own_interval_s, *question.step_s));
    }
    for (const auto& count : {question.nodes, question.gpus, question.gpus_per_node,
                              question.observed_nodes, question.writers}) {
        if (count == std::uint64_t{0}) {
            return fail(Errc::bad_input, "nodes, GPUs and writers: 0 is none");
        }
    }
    return {};
}

/// Of several ways to say one thing at most one may be used.
Result<void> check_ways(const Question& question) {
    const int failures = (question.mtbf_s ? 1 : 0) + (question.failures ? 1 : 0) +
                         (question.per_1000_node_days ? 1 : 0);
    if (failures > 1) {
        return fail(Errc::bad_input,
                    "an MTBF, a rate and counted failures say the same: give one of them");
    }
    if (question.nodes && question.gpus) {
        return fail(Errc::bad_input, "nodes and GPUs say the same: give one of them");
    }
    if (question.bytes && question.params) {
        return fail(Errc::bad_input,
                    "the bytes of a checkpoint and the parameters of the model say the same: give "
                    "one of them");
    }
    return {};
}

/// What says nothing without something else is not passed over in silence.
Result<void> check_needs(const Question& question) {
    struct Need {
        bool given;
        bool has;
        std::string_view what, needed;
    };
    const auto& q = question;
    const Need needs[] = {
        {q.failures.has_value(), q.observed_s.has_value(), "counted failures",
         "the time they were observed in"},
        {q.observed_s.has_value(), q.failures.has_value(), "a time of observation",
         "the failures that were counted in it"},
        {q.observed_nodes.has_value(), q.failures.has_value(), "observed nodes",
         "the failures that were counted on them"},
        {q.gpus_per_node.has_value(), q.gpus.has_value(), "GPUs a node", "the GPUs of the job"},
        {q.bytes_per_param.has_value(), q.params.has_value(), "bytes per parameter",
         "the parameters of the model"},
        {q.bytes_per_s.has_value(), q.bytes || q.params, "a bandwidth",
         "the size of a checkpoint, or the parameters of the model"},
        {q.node_bytes_per_s.has_value(), q.bytes_per_s.has_value(), "a bandwidth of each node",
         "that of the storage"},
        {q.writers.has_value(), q.bytes_per_s.has_value(), "a number of writers",
         "the bandwidth that they share"},
        {q.memory_cost_s.has_value(), q.process_share.has_value(), "copies in memory",
         "the share of failures that they survive"},
        {q.process_share.has_value(), q.memory_cost_s.has_value(),
         "a share of failures that memory survives", "the cost of a copy there"},
        {q.memory_restart_s.has_value(), q.memory_cost_s.has_value(), "a restart from memory",
         "the cost of a copy there"},
    };
    for (const auto& need : needs) {
        if (need.given && !need.has) {
            return fail(Errc::bad_input, fmt::format("{}: nothing to reckon with without {}",
                                                     need.what, need.needed));
        }
    }
    return {};
}

}  // namespace

Result<void> check_question(const Question& question) {
    for (auto* check : {check_numbers, check_ways, check_needs}) {
        if (auto checked = check(question); !checked) {
            return checked;
        }
    }
    return {};
}

}  // namespace railhead::checkpoint
