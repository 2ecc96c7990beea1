#include "checkpoint/launch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/clock.hpp"
#include "checkpoint/variables.hpp"

namespace railhead::checkpoint {

namespace {

double first(std::optional<double> a, std::optional<double> b, double otherwise) {
    return a ? *a : b.value_or(otherwise);
}

bool knows_any(const Known& known) {
    return known.per_1000_node_days || known.cost_s || known.step_s || known.restart_s;
}

std::string_view source_of(const LaunchFacts& facts) {
    if (facts.own_interval_s) {
        return from::user;
    }
    if (facts.job.cost_s && facts.cost_is_measured) {
        return from::history;
    }
    return knows_any(facts.policy) || facts.told_by_policy ? from::policy : from::usual;
}

}  // namespace

Result<Launch> plan_launch(const LaunchFacts& facts) {
    const auto& job = facts.job;
    const auto& policy = facts.policy;
    const ScheduleFacts figures{
        .per_1000_node_days =
            first(policy.per_1000_node_days, job.per_1000_node_days, usual().per_1000_node_days),
        .nodes = facts.nodes,
        .cost_s = first(job.cost_s, policy.cost_s, usual().cost_s),
        .step_s = first(job.step_s, policy.step_s, usual().step_s),
        .restart_s = first(job.restart_s, policy.restart_s, usual().restart_s),
        .own_interval_s = facts.own_interval_s};
    auto schedule = make_schedule(figures);
    if (!schedule) {
        return propagate(schedule);
    }
    Launch launch;
    launch.interval_s = std::max<std::int64_t>(std::llround(schedule->interval_s), 1);
    launch.mtbf_s = std::max<std::int64_t>(std::llround(schedule->mtbf_s), 1);
    launch.lead_s = std::llround(std::ceil(schedule->lead_s));
    if (facts.end_s) {
        launch.deadline_s = first_deadline_s(*facts.end_s, launch.lead_s, facts.now_s);
    }
    launch.per_1000_node_days = figures.per_1000_node_days;
    launch.cost_s = figures.cost_s;
    launch.source = source_of(facts);
    launch.restarts = facts.restarts;
    return launch;
}

std::vector<Setting> launch_variables(const Launch& launch) {
    const auto text = [](const auto& value) { return fmt::format("{}", value); };
    return {{variable::interval, text(launch.interval_s)},
            {variable::source, text(launch.source)},
            {variable::mtbf, text(launch.mtbf_s)},
            {variable::lead, text(launch.lead_s)},
            {variable::deadline,
             launch.deadline_s ? std::optional{text(*launch.deadline_s)} : std::nullopt},
            {variable::restarts, text(launch.restarts)},
            {variable::rate, text(launch.per_1000_node_days)}};
}

std::vector<Setting> no_launch_variables() {
    constexpr std::array names{variable::source,   variable::mtbf,     variable::lead,
                               variable::deadline, variable::restarts, variable::rate,
                               variable::job_end};
    std::vector<Setting> settings;
    for (const auto* const name : names) {
        settings.emplace_back(name, std::nullopt);
    }
    return settings;
}

std::string write_job_end(std::uint32_t job, std::optional<std::int64_t> end_s) {
    return fmt::format("{}:{}", job, end_s.value_or(0));
}

std::optional<std::int64_t> read_job_end(std::string_view value, std::uint32_t job) {
    const auto colon = value.find(':');
    if (colon == std::string_view::npos ||
        parse_number<std::uint32_t>(value.substr(0, colon)) != job) {
        return std::nullopt;
    }
    return parse_number<std::int64_t>(value.substr(colon + 1));
}

}  // namespace railhead::checkpoint
