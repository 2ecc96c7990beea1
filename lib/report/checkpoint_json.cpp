#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/checkpoint.hpp"
#include "report/json_number.hpp"

namespace railhead::report {

namespace {

using checkpoint::Outcome;
using checkpoint::Recommendation;
using json = nlohmann::ordered_json;

json or_null(const std::optional<double>& value) {
    return value ? json_number(*value) : json(nullptr);
}

json outcome_json(const Outcome& outcome) {
    return {{"interval_s", json_number(outcome.interval_s)},
            {"steps", or_null(outcome.steps)},
            {"ettr", json_number(outcome.shares.useful)},
            {"ettr_v1", json_number(outcome.ettr_v1)},
            {"ettr_v2", json_number(outcome.ettr_v2)},
            {"lost",
             {{"share", json_number(outcome.shares.waste())},
              {"checkpoints", json_number(outcome.shares.checkpoints)},
              {"failures", json_number(outcome.shares.failures)},
              {"s", json_number(outcome.lost_s)}}}};
}

json failures_json(const Recommendation& about) {
    const auto& failures = about.failures;
    const auto& estimate = failures.estimate;
    return {{"mtbf_s", json_number(failures.mtbf_s)},
            {"mtbf_low_s", estimate ? json_number(estimate->low_s) : json(nullptr)},
            {"mtbf_high_s", estimate ? or_null(estimate->high_s) : json(nullptr)},
            {"from", failures.from},
            {"nodes", failures.nodes ? json(*failures.nodes) : json(nullptr)},
            {"per_1000_node_days", or_null(failures.per_1000_node_days)},
            {"expected", json_number(failures.expected)},
            {"none_chance", json_number(failures.none_chance)}};
}

json checkpoint_part(const checkpoint::Checkpoint& what) {
    return {{"cost_s", json_number(what.cost_s)},
            {"background_s", json_number(what.background_s)},
            {"bytes", or_null(what.bytes)},
            {"bytes_per_s", or_null(what.bytes_per_s)},
            {"needed_bytes_per_s", or_null(what.needed_bytes_per_s)},
            {"average_bytes_per_s", or_null(what.average_bytes_per_s)}};
}

json levels_json(const Recommendation& about) {
    if (!about.levels) {
        return nullptr;
    }
    const auto& pattern = about.levels->pattern;
    return {{"interval_s", json_number(pattern.interval_s)},
            {"memory_per_storage", pattern.memory_per_storage},
            {"ettr", json_number(about.levels->ettr)},
            {"lost_s", json_number(about.levels->lost_s)}};
}

std::string_view unit_name(checkpoint::Unit unit) {
    switch (unit) {
        case checkpoint::Unit::seconds:
            return "s";
        case checkpoint::Unit::per_1000_node_days:
            return "per_1000_node_days";
        case checkpoint::Unit::gpus_per_node:
            return "gpus_per_node";
        case checkpoint::Unit::bytes_per_param:
            return "bytes_per_param";
    }
    return "";
}

json assumptions_json(const Recommendation& about) {
    auto list = json::array();
    for (const auto& assumption : about.assumptions) {
        list.push_back({{"what", assumption.what},
                        {"value", json_number(assumption.value)},
                        {"unit", unit_name(assumption.unit)},
                        {"source", assumption.source},
                        {"guess", assumption.is_guess}});
    }
    return list;
}

json simulation_json(const checkpoint::Trials* trials) {
    if (trials == nullptr) {
        return nullptr;
    }
    auto list = json::array();
    for (const auto& trial : trials->trials()) {
        const auto mean = trial.stretch.mean();
        list.push_back({{"interval_s", json_number(trial.experiment.interval_s)},
                        {"checkpoints", trial.experiment.checkpoints},
                        {"ettr_formula", json_number(1 / trial.formula)},
                        {"ettr", json_number(1 / mean)},
                        {"ettr_error", json_number(trial.stretch.standard_error() / mean / mean)}});
    }
    const auto& first = trials->trials().front().experiment;
    const auto* better = trials->better_than_chosen();
    return {
        {"runs", trials->done()},
        {"seed", first.seed},
        {"shape", json_number(first.shape)},
        {"better_s", better == nullptr ? json(nullptr) : json_number(better->experiment.interval_s)},
        {"intervals", list}};
}

}  // namespace

std::string checkpoint_json(const Recommendation& recommendation,
                            const checkpoint::Trials* trials) {
    const auto& about = recommendation;
    const json document{
        {"schema", "railhead.ckpt/1"},
        {"chosen", outcome_json(about.chosen)},
        {"chosen_by", about.reason == checkpoint::Reason::optimum ? "optimum" : "background"},
        {"own", about.own ? outcome_json(*about.own) : json(nullptr)},
        {"levels", levels_json(about)},
        {"formulas",
         {{"young_s", json_number(about.young_s)},
          {"daly_first_order_s", json_number(about.daly_first_order_s)},
          {"daly_s", json_number(about.daly_s)},
          {"optimum_s", json_number(about.optimum_s)}}},
        {"failures", failures_json(about)},
        {"checkpoint", checkpoint_part(about.checkpoint)},
        {"restart_s", json_number(about.timing.restart_s())},
        {"span_s", json_number(about.span_s)},
        {"has_time_limit", about.has_time_limit},
        {"assumptions", assumptions_json(about)},
        {"notes", about.notes},
        {"simulation", simulation_json(trials)}};
    constexpr int indent = 2;
    return document.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace railhead::report
