#include "checkpoint/record.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace railhead::checkpoint {

std::optional<double> Record::mean_cost_s() const {
    return costs > 0 ? std::optional{cost_sum_s / static_cast<double>(costs)} : std::nullopt;
}

std::optional<double> Record::mean_interval_s() const {
    double sum_s = 0;
    std::uint64_t count = 0;
    for (const auto& checkpoint : latest) {
        sum_s += checkpoint.interval_s.value_or(0);
        count += checkpoint.interval_s ? 1 : 0;
    }
    return count > 0 ? std::optional{sum_s / static_cast<double>(count)} : std::nullopt;
}

void Record::add(const Saved& checkpoint) {
    ++checkpoints;
    if (checkpoint.write_s) {
        ++costs;
        cost_sum_s += *checkpoint.write_s;
    }
    latest.push_back(checkpoint);
    if (latest.size() > most_latest) {
        latest.erase(latest.begin());
    }
    if (!attempts.empty()) {
        ++attempts.back().checkpoints;
        attempts.back().last_s = checkpoint.at_s;
    }
}

bool Record::is_of(const JobNow& now) const {
    if (name != now.name || attempts.empty() || attempts.back().restarts > now.restarts) {
        return false;
    }
    if (!cluster.empty() && !now.cluster.empty() && cluster != now.cluster) {
        return false;
    }
    if (!now.submitted_s) {
        return true;
    }
    if (attempts.back().restarts == now.restarts) {
        return !submitted_s || *submitted_s == *now.submitted_s;
    }
    // The next attempt was submitted when the last one was requeued, by clocks that may differ.
    constexpr double slack_s = 60;
    return *now.submitted_s >= attempts.back().started_s - slack_s;
}

bool is_default_name(std::string_view name) {
    // Of sbatch --wrap, of salloc, and of a script on sbatch's standard input.
    constexpr std::array<std::string_view, 4> defaults{"", "wrap", "interactive", "sbatch"};
    return std::ranges::find(defaults, name) != defaults.end();
}

void History::put(const std::string& name, const Costs::One& cost) {
    if (is_default_name(name)) {
        return;
    }
    auto at = std::ranges::find(jobs_, name, &Costs::name);
    Costs found{name, {}};
    if (at != jobs_.end()) {
        found = std::move(*at);
        jobs_.erase(at);
    }
    std::erase_if(found.costs, [&](const Costs::One& one) {
        return one.job == cost.job && one.restarts == cost.restarts;
    });
    found.costs.push_back(cost);
    if (found.costs.size() > Costs::most) {
        found.costs.erase(found.costs.begin());
    }
    jobs_.push_back(std::move(found));  // by use: the first was used longest ago
    if (jobs_.size() > most_names) {
        jobs_.erase(jobs_.begin());
    }
}

std::optional<double> History::cost_s(std::string_view name) const {
    const auto at = std::ranges::find(jobs_, name, &Costs::name);
    if (at == jobs_.end() || is_default_name(name)) {
        return std::nullopt;
    }
    constexpr std::size_t few = 5;
    std::vector<double> costs;
    const auto first = at->costs.size() - std::min(few, at->costs.size());
    for (auto i = first; i < at->costs.size(); ++i) {
        costs.push_back(at->costs[i].cost_s);
    }
    return median(std::move(costs));
}

std::optional<double> median(std::vector<double> values) {
    if (values.empty()) {
        return std::nullopt;
    }
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace railhead::checkpoint
