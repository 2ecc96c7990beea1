#include <nlohmann/json.hpp>

#include "report/checkpoint.hpp"
#include "report/json_parts.hpp"

namespace railhead::report {

namespace {

using checkpoint::Outcome;
using checkpoint::Recommendation;
using json = nlohmann::ordered_json;

json outcome_json(const Outcome& outcome) {
    return {{"interval_s", rounded(outcome.interval_s)},
            {"steps", or_null(outcome.steps)},
            {"ettr", rounded(outcome.shares.useful)},
            {"ettr_v1", rounded(outcome.ettr_v1)},
            {"ettr_v2", rounded(outcome.ettr_v2)},
            {"lost",
             {{"share", rounded(outcome.shares.waste())},
              {"checkpoints", rounded(outcome.shares.checkpoints)},
              {"failures", rounded(outcome.shares.failures)},
              {"s", rounded(outcome.lost_s)}}}};
}

json failures_json(const Recommendation& about) {
    const auto& failures = about.failures;
    const auto& estimate = failures.estimate;
    return {{"mtbf_s", rounded(failures.mtbf_s)},
            {"mtbf_low_s", estimate ? rounded(estimate->low_s) : json(nullptr)},
            {"mtbf_high_s", estimate ? or_null(estimate->high_s) : json(nullptr)},
            {"from", failures.from},
            {"nodes", failures.nodes ? json(*failures.nodes) : json(nullptr)},
            {"per_1000_node_days", or_null(failures.per_1000_node_days)},
            {"expected", rounded(failures.expected)},
            {"none_chance", rounded(failures.none_chance)}};
}

json checkpoint_part(const checkpoint::Checkpoint& what) {
    return {{"cost_s", rounded(what.cost_s)},
            {"background_s", rounded(what.background_s)},
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
    return {{"interval_s", rounded(pattern.interval_s)},
            {"memory_per_storage", pattern.memory_per_storage},
            {"ettr", rounded(about.levels->ettr)},
            {"lost_s", rounded(about.levels->lost_s)}};
}

json assumptions_json(const Recommendation& about) {
    auto list = json::array();
    for (const auto& assumption : about.assumptions) {
        list.push_back(assumption_json(assumption));
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
        list.push_back({{"interval_s", rounded(trial.experiment.interval_s)},
                        {"checkpoints", trial.experiment.checkpoints},
                        {"ettr_formula", rounded(1 / trial.formula)},
                        {"ettr", rounded(1 / mean)},
                        {"ettr_error", rounded(trial.stretch.standard_error() / mean / mean)}});
    }
    const auto& first = trials->trials().front().experiment;
    const auto* better = trials->better_than_chosen();
    return {
        {"runs", trials->done()},
        {"seed", first.seed},
        {"shape", rounded(first.shape)},
        {"better_s", better == nullptr ? json(nullptr) : rounded(better->experiment.interval_s)},
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
         {{"young_s", rounded(about.young_s)},
          {"daly_first_order_s", rounded(about.daly_first_order_s)},
          {"daly_s", rounded(about.daly_s)},
          {"optimum_s", rounded(about.optimum_s)}}},
        {"failures", failures_json(about)},
        {"checkpoint", checkpoint_part(about.checkpoint)},
        {"restart_s", rounded(about.timing.restart_s())},
        {"span_s", rounded(about.span_s)},
        {"has_time_limit", about.has_time_limit},
        {"assumptions", assumptions_json(about)},
        {"notes", about.notes},
        {"simulation", simulation_json(trials)}};
    return document_text(document);
}

}  // namespace railhead::report
