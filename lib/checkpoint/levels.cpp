#include "checkpoint/levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "checkpoint/timing.hpp"

namespace railhead::checkpoint {

namespace {

constexpr std::uint64_t most_memory_per_storage = 100'000;

/// The chain of one pattern, up to the copy on storage.
class Chain {
 public:
    explicit Chain(const TwoLevels& levels)
        : levels_{levels},
          rate_{1 / levels.process_mtbf_s + 1 / levels.node_mtbf_s},
          process_share_{1 / levels.process_mtbf_s / rate_} {
        // From a restart out of memory: the chance to come through before a node fails, and the
        // time.
        const auto fails = process_share_ * -std::expm1(-rate_ * levels.memory_restart_s);
        const auto through = std::exp(-rate_ * levels.memory_restart_s);
        restart_chance_ = through / (1 - fails);
        restart_s_ = until_failure(levels.memory_restart_s) / (1 - fails);
    }

    /// Expected wall time of a pattern over its work.
    [[nodiscard]] double stretch(const Pattern& pattern) const {
        const auto k = static_cast<double>(pattern.memory_per_storage);
        const auto plain_s = pattern.interval_s + levels_.memory_cost_s;
        const auto plain = segment(plain_s);
        const auto last = segment(plain_s + levels_.storage_cost_s);
        // k - 1 plain segments, a geometric series, and the last: until its end or a node's
        // failure.
        const auto log_through = (k - 1) * std::log1p(-plain.miss);
        const auto segments = plain.miss > 0 ? -std::expm1(log_through) / plain.miss : k - 1;
        const auto time_s = plain.time_s * segments + std::exp(log_through) * last.time_s;
        const auto log_chance = log_through + std::log1p(-last.miss);
        // Out of storage the pattern begins anew, after a restart that any failure begins anew.
        const auto restart_s = std::expm1(rate_ * levels_.storage_restart_s) / rate_;
        const auto total_s = (time_s - std::expm1(log_chance) * restart_s) / std::exp(log_chance);
        const auto out = total_s / (pattern.interval_s * k);
        return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;  // inf × 0
    }

 private:
    struct Segment {
        double time_s = 0;  ///< expected, until it is done or a node fails
        double miss = 0;    ///< the chance that a node fails first
    };

    /// Expected time until a failure or the end of `span_s`.
    [[nodiscard]] double until_failure(double span_s) const {
        return -std::expm1(-rate_ * span_s) / rate_;
    }

    /// Work and a checkpoint, repeated out of memory as long as only processes fail.
    [[nodiscard]] Segment segment(double span_s) const {
        const auto fails = -std::expm1(-rate_ * span_s);
        const auto repeated = fails * process_share_ * restart_chance_;
        return {(until_failure(span_s) + fails * process_share_ * restart_s_) / (1 - repeated),
                fails * (1 - process_share_ * restart_chance_) / (1 - repeated)};
    }

    const TwoLevels& levels_;
    double rate_;
    double process_share_;
    double restart_chance_ = 0;
    double restart_s_ = 0;
};

Result<void> check(const TwoLevels& levels) {
    for (const auto& facts :
         {TimingFacts{levels.process_mtbf_s, levels.memory_cost_s, levels.memory_restart_s, 0},
          TimingFacts{levels.node_mtbf_s, levels.storage_cost_s, levels.storage_restart_s, 0}}) {
        auto timing = Timing::make(facts);
        if (!timing) {
            return propagate(timing);
        }
    }
    return {};
}

/// Looks for the best pattern of a chain.
class Search {
 public:
    explicit Search(const TwoLevels& levels) : chain_{levels} {
        // To first order the two levels are apart, and Young's interval for each bounds the search.
        const auto mtbf_s = 1 / (1 / levels.process_mtbf_s + 1 / levels.node_mtbf_s);
        const auto memory_s = std::sqrt(2 * levels.memory_cost_s * levels.process_mtbf_s);
        const auto storage_s = std::sqrt(2 * levels.storage_cost_s * levels.node_mtbf_s);
        const auto both_s = std::sqrt(2 * (levels.memory_cost_s + levels.storage_cost_s) * mtbf_s);
        low_s_ = std::min({memory_s, storage_s, both_s, mtbf_s}) / 100;
        high_s_ = std::max({memory_s, storage_s, both_s});
        guess_ = static_cast<std::uint64_t>(
            std::clamp(storage_s / memory_s, 1.0, 1.0 * most_memory_per_storage));
    }

    /// Over the numbers of copies the least time is one valley: its walls are found by steps that
    /// halve.
    Pattern best() {
        look_at(guess_);
        for (auto step = guess_; step > 0; step /= 2) {
            for (bool moved = true; moved;) {
                const auto k = best_.memory_per_storage;
                moved = (k > step && look_at(k - step)) ||
                        (k + step <= most_memory_per_storage && look_at(k + step));
            }
        }
        return best_;
    }

 private:
    /// Whether so many copies are better than the best seen.
    bool look_at(std::uint64_t memory_per_storage) {
        const Pattern pattern{best_interval_s(memory_per_storage), memory_per_storage};
        const auto time = chain_.stretch(pattern);
        if (time >= least_ && best_.interval_s > 0) {
            return false;
        }
        best_ = pattern;
        least_ = time;
        return true;
    }

    /// By golden section on the logarithm of the interval.
    [[nodiscard]] double best_interval_s(std::uint64_t memory_per_storage) const {
        constexpr double ratio = 1 / std::numbers::phi;
        constexpr int steps = 60;
        const auto time_at = [&](double log_s) {
            return chain_.stretch({std::exp(log_s), memory_per_storage});
        };
        double low = std::log(low_s_);
        double high = std::log(high_s_);
        for (int i = 0; i < steps; ++i) {
            const auto left = high - ratio * (high - low);
            const auto right = low + ratio * (high - low);
            const bool is_left = time_at(left) <= time_at(right);
            (is_left ? high : low) = is_left ? right : left;
        }
        return std::exp((low + high) / 2);
    }

    Chain chain_;
    double low_s_ = 0;
    double high_s_ = 0;
    std::uint64_t guess_ = 1;
    Pattern best_;
    double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Result<double> stretch(const TwoLevels& levels, const Pattern& pattern) {
    auto checked = check(levels);
    if (!checked) {
        return propagate(checked);
    }
    if (!(pattern.interval_s > 0) || !std::isfinite(pattern.interval_s)) {
        return fail(Errc::bad_input, fmt::format("an interval of {:g} s: it has to be more than 0",
                                                 pattern.interval_s));
    }
    if (pattern.memory_per_storage == 0 || pattern.memory_per_storage > most_memory_per_storage) {
        return fail(Errc::bad_input,
                    fmt::format("every {}th checkpoint to storage: between 1 and {}",
                                pattern.memory_per_storage, most_memory_per_storage));
    }
    return Chain{levels}.stretch(pattern);
}

Result<Pattern> best_pattern(const TwoLevels& levels) {
    auto checked = check(levels);
    if (!checked) {
        return propagate(checked);
    }
    return Search{levels}.best();
}

}  // namespace railhead::checkpoint
