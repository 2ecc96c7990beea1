#include "policy/price.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace railhead::policy {

namespace {

/// min(max(x, least), most): a layer may set one of the two against the other of a lower one.
std::uint32_t clamped(double seconds, const PlacementSettings& settings) {
    constexpr double most = std::numeric_limits<std::uint32_t>::max() - 1;
    const auto rounded = static_cast<std::uint32_t>(std::min(std::round(seconds), most));
    return std::min(std::max(rounded, settings.wait_least_s), settings.wait_most_s);
}

std::uint32_t wanted_s(const PlacementSettings& settings, double run_time_s) {
    if (settings.price.from == PriceFrom::wait) {
        return settings.price.wait_s;
    }
    const auto slowdown = slowdown_at(settings.price, settings.communication, 0);
    return slowdown > 0 ? clamped(slowdown * run_time_s, settings) : 0;
}

bool tells(const std::optional<std::uint32_t>& minutes) {
    return minutes && *minutes != job::unlimited;
}

}  // namespace

double slowdown_at(const Price& price, double communication, std::size_t level) {
    const auto written = [&](std::size_t i) {
        return price.by_level[std::min(i, std::max<std::size_t>(price.levels, 1) - 1)];
    };
    switch (price.from) {
        case PriceFrom::guess: return guessed_slowdown * static_cast<double>(level + 1);
        case PriceFrom::slowdown: return written(level);
        case PriceFrom::bus_bandwidth:
            return communication * (written(0) / written(level + 1) - 1);
        case PriceFrom::oversubscription: return communication * (written(level) - 1);
        case PriceFrom::wait:
        case PriceFrom::user: return 0;
    }
    return 0;
}

RunTime run_time_of(const job::JobRequest& request, const fabric::Partition* partition,
                    const PlacementSettings& settings) {
    constexpr std::uint64_t minute_s = 60;
    if (request.time_limit_min) {
        if (tells(request.time_limit_min)) {
            return {*request.time_limit_min * minute_s, RunTimeFrom::time_limit};
        }
    } else if (partition != nullptr && partition->default_time_min) {
        if (tells(partition->default_time_min)) {
            return {*partition->default_time_min * minute_s, RunTimeFrom::default_time};
        }
    } else if (partition != nullptr && tells(partition->max_time_min)) {
        return {*partition->max_time_min * minute_s, RunTimeFrom::max_time};
    }
    return {settings.run_time_s, RunTimeFrom::policy};
}

Wait price_wait(const PlacementSettings& settings, RunTime run_time, bool smaller_than_a_leaf,
                std::uint32_t max_switch_wait_s) {
    Wait wait;
    wait.price = settings.price;
    wait.communication = settings.communication;
    wait.slowdown = slowdown_at(settings.price, settings.communication, 0);
    wait.run_time = run_time;
    wait.times = smaller_than_a_leaf ? settings.below_leaf : 1;
    wait.wanted_s = wanted_s(settings, wait.times * static_cast<double>(run_time.seconds));
    wait.in_force_s = std::min(wait.wanted_s, max_switch_wait_s);
    return wait;
}

std::uint32_t longest_wait_s(const PlacementSettings& settings,
                             const fabric::Partition& partition) {
    const auto& most = partition.max_time_min;
    const double longest = tells(most) ? 60.0 * *most : std::numeric_limits<std::uint32_t>::max();
    return wanted_s(settings, settings.below_leaf * longest);
}

std::string_view to_string(PriceFrom from) {
    switch (from) {
        case PriceFrom::guess: return "guess";
        case PriceFrom::slowdown: return "slowdown";
        case PriceFrom::bus_bandwidth: return "bus_bandwidth";
        case PriceFrom::oversubscription: return "oversubscription";
        case PriceFrom::wait: return "wait";
        case PriceFrom::user: return "user";
    }
    return "?";
}

std::string_view to_string(RunTimeFrom from) {
    switch (from) {
        case RunTimeFrom::time_limit: return "time limit";
        case RunTimeFrom::default_time: return "DefaultTime";
        case RunTimeFrom::max_time: return "MaxTime";
        case RunTimeFrom::policy: return "run_time of the policy";
    }
    return "?";
}

std::string percent_text(double share) {
    const auto percent = 100 * share;
    return std::abs(percent - std::round(percent)) < 0.05 ? fmt::format("{:.0f} %", percent)
                                                          : fmt::format("{:.1f} %", percent);
}

}  // namespace railhead::policy
