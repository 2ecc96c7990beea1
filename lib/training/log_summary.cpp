#include "training/log_summary.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>

namespace railhead::training {

namespace {

constexpr std::size_t most_warm_up = 10;
constexpr double warm = 1.1;  // times the median
constexpr double hole = 10;   // times the usual distance of two lines
constexpr double slow_share = 0.015;
constexpr double slow_spreads = 4;
constexpr std::size_t most_worst = 8;
constexpr double doubtful_trend = 0.01;
constexpr double least_trend = 0.02;  // of the median, over the log
constexpr double silent_lines = 10;   // lines that are due and do not come
constexpr double least_silence_s = 600;

using Samples = std::span<const Sample>;

std::vector<double> times_of(Samples samples) {
    std::vector<double> times;
    times.reserve(samples.size());
    for (const auto& sample : samples) {
        times.push_back(sample.time);
    }
    return times;
}

std::optional<double> median_tflops(Samples samples) {
    std::vector<double> values;
    for (const auto& sample : samples) {
        if (std::isfinite(sample.tflops)) {
            values.push_back(sample.tflops);
        }
    }
    return values.empty() ? std::nullopt : std::optional{median_of(values)};
}

bool is_interrupted(const Sample& sample) {
    return (sample.marks & (after_validation | after_checkpoint)) != 0;
}

Interrupted interrupted_of(const std::vector<Sample>& timed, StepMark mark) {
    std::vector<double> times;
    for (const auto& sample : timed) {
        if ((sample.marks & mark) != 0) {
            times.push_back(sample.time);
        }
    }
    return {times.size(), median_of(times)};
}

/// Takes the warm-up off the front; gives how many lines that is.
std::uint64_t drop_warm_up(std::vector<Sample>& samples) {
    const auto most = std::min(most_warm_up, samples.size() / 2);
    const auto times = times_of(samples);
    std::size_t count = 0;
    while (count < most && times[count] > warm * median_of(std::span{times}.subspan(count + 1))) {
        ++count;
    }
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

/// Where the numbers of the steps have no hole.
std::vector<Samples> parts_of(Samples samples) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < samples.size(); ++i) {
        distances.push_back(static_cast<double>(samples[i].iteration) -
                            static_cast<double>(samples[i - 1].iteration));
    }
    const auto most = hole * std::max(1.0, median_of(distances));
    std::vector<Samples> parts;
    std::size_t from = 0;
    for (std::size_t i = 1; i <= samples.size(); ++i) {
        if (i == samples.size() || distances[i - 1] > most) {
            parts.push_back(samples.subspan(from, i - from));
            from = i;
        }
    }
    return parts;
}

Level level_of(Samples samples, std::uint64_t stride) {
    return {samples.front().iteration, samples.back().iteration,     samples.front().line,
            samples.size() * stride,   median_of(times_of(samples)), median_tflops(samples)};
}

/// The slow steps of one level.
void add_slow(Samples samples, double usual, LogSummary& summary, double& lost) {
    const auto spread = spread_of(times_of(samples));
    const auto limit = usual + std::max(slow_share * usual, slow_spreads * spread);
    for (const auto& sample : samples) {
        if (sample.time > limit) {
            ++summary.slow.count;
            lost += sample.time - usual;
            summary.slow.worst.push_back({sample.iteration, sample.line, sample.time, usual});
        }
    }
}

/// The distance of the slow steps, where all but one in five keep it to a tenth.
std::optional<double> period_of(const std::vector<SlowStep>& slow) {
    constexpr std::size_t least = 4;
    if (slow.size() < least) {
        return std::nullopt;
    }
    std::vector<double> distances;
    for (std::size_t i = 1; i < slow.size(); ++i) {
        distances.push_back(static_cast<double>(slow[i].iteration - slow[i - 1].iteration));
    }
    const auto usual = median_of(distances);
    const auto even = std::ranges::count_if(
        distances, [&](double distance) { return std::abs(distance - usual) <= 0.1 * usual; });
    const bool regular =
        usual > 1 && static_cast<double>(even) >= 0.8 * static_cast<double>(distances.size());
    return regular ? std::optional{usual} : std::nullopt;
}

/// Levels, shifts and slow steps of one part.
void look_at_part(Samples samples, LogSummary& summary, double& lost) {
    const auto changes = find_changes(times_of(samples));
    std::size_t from = 0;
    for (std::size_t i = 0; i <= changes.size(); ++i) {
        const auto to = i < changes.size() ? changes[i].from : samples.size();
        const auto level_samples = samples.subspan(from, std::max(to, from + 1) - from);
        const auto level = level_of(level_samples, summary.stride);
        if (i > 0) {
            const auto& before = summary.levels.back();
            summary.shifts.push_back(
                {before.last, level.first, samples[changes[i - 1].from].line, before, level});
        }
        summary.levels.push_back(level);
        add_slow(level_samples, level.time, summary, lost);
        from = i < changes.size() ? changes[i].settled : samples.size();
    }
}

void sum_up_slow(Samples samples, double lost, LogSummary& summary) {
    auto& slow = summary.slow;
    double all = 0;
    for (const auto& sample : samples) {
        all += sample.time;
    }
    slow.lost_share = all > 0 ? lost / all : 0;
    slow.every = period_of(slow.worst);
    std::ranges::stable_sort(slow.worst, std::greater<>{},
                             [](const SlowStep& step) { return step.time - step.usual; });
    slow.worst.resize(std::min(slow.worst.size(), most_worst));
    slow.count *= summary.stride;
}

void look_at_trend(const std::vector<Sample>& samples, LogSummary& summary) {
    if (!summary.shifts.empty() || summary.levels.size() != 1) {
        return;
    }
    summary.trend = trend_of(times_of(samples));
    if (summary.trend && summary.trend->p_value < doubtful_trend) {
        const auto share =
            summary.trend->slope * static_cast<double>(samples.size() - 1) / summary.time.median;
        summary.trend_share = std::abs(share) >= least_trend ? share : 0;
    }
    if (summary.trend) {
        summary.trend->slope /= static_cast<double>(summary.stride);
    }
}

/// A loss half as large again as the median of the ten before it, and its way back.
std::vector<LossSpike> spikes_of(const std::vector<Sample>& samples) {
    constexpr std::size_t window = 10;
    constexpr std::size_t least = 2;
    constexpr double spike = 1.5;
    constexpr double back = 1.1;
    std::vector<LossSpike> spikes;
    std::vector<double> before;
    for (const auto& sample : samples) {
        const auto loss = sample.loss;
        if (std::isnan(loss)) {
            continue;
        }
        const bool open = !spikes.empty() && !spikes.back().recovered;
        if (open && loss <= back * spikes.back().before) {
            spikes.back().recovered = sample.iteration;
        } else if (open) {
            continue;
        } else if (before.size() >= least && loss > spike * median_of(before) &&
                   median_of(before) > 0) {
            spikes.push_back({sample.iteration, sample.line, median_of(before), loss, {}});
            continue;
        }
        before.push_back(loss);
        if (before.size() > window) {
            before.erase(before.begin());
        }
    }
    return spikes;
}

/// From one line about steps to the next, seconds.
std::optional<double> line_every_s(const Run& run, const LogSummary& summary) {
    if (run.measure != Measure::step_s || summary.timed == 0) {
        return std::nullopt;
    }
    std::vector<double> distances;
    const auto& samples = run.series.samples();
    for (std::size_t i = 1; i < samples.size(); ++i) {
        distances.push_back(static_cast<double>(samples[i].iteration - samples[i - 1].iteration) /
                            static_cast<double>(summary.stride));
    }
    return summary.time.median * std::max(1.0, median_of(distances));
}

std::optional<Hang> hang_of(const Run& run, const LogSummary& summary) {
    if (!run.last) {
        return std::nullopt;
    }
    const auto* const all = run.fact(Topic::steps);
    if (all != nullptr && run.last->iteration &&
        static_cast<double>(*run.last->iteration) >= all->value) {
        return std::nullopt;  // it has come to its end
    }
    Hang hang;
    hang.after = run.event_after_last;
    hang.last_iteration = run.last->iteration.value_or(run.series.lines());
    hang.last_line = run.last->line;
    hang.usual_s = line_every_s(run, summary);
    hang.at_least = !run.last_step_at_s;
    const auto since = run.last_step_at_s ? run.last_step_at_s : run.after_step_at_s;
    if (since && run.last_at_s) {
        const auto silent_s = *run.last_at_s - *since;
        if (silent_s >= std::max(least_silence_s, silent_lines * hang.usual_s.value_or(0))) {
            hang.silent_s = silent_s;
        }
    }
    return hang.silent_s || hang.after ? std::optional{hang} : std::nullopt;
}

}  // namespace

std::optional<std::size_t> choose_run(const TrainingLog& log) {
    constexpr std::uint64_t enough = 3;
    std::optional<std::size_t> most;
    for (std::size_t i = 0; i < log.runs.size(); ++i) {
        const auto lines = log.runs[i].series.lines();
        if (lines >= enough || (lines > 0 && (!most || lines > log.runs[*most].series.lines()))) {
            most = i;
        }
    }
    return most;
}

LogSummary summarize(const TrainingLog& log, std::size_t number) {
    const auto& run = log.runs[number];
    LogSummary summary;
    summary.run = number;
    summary.measure = run.measure;
    summary.lines = run.series.lines();
    summary.stride = run.series.stride();
    summary.mfu_printed = run.last_mfu;
    summary.spikes = spikes_of(run.series.samples());
    std::vector<Sample> timed;
    std::ranges::copy_if(run.series.samples(), std::back_inserter(timed),
                         [](const Sample& sample) { return std::isfinite(sample.time); });
    summary.warm_up = drop_warm_up(timed) * summary.stride;
    summary.validation = interrupted_of(timed, after_validation);
    summary.checkpoint = interrupted_of(timed, after_checkpoint);
    if (!std::ranges::all_of(timed, is_interrupted)) {
        std::erase_if(timed, is_interrupted);
    }
    summary.timed = timed.size() * summary.stride;
    summary.time = quartiles_of(times_of(timed));
    summary.tflops = median_tflops(timed);
    if (!timed.empty()) {
        double lost = 0;
        for (const auto part : parts_of(timed)) {
            look_at_part(part, summary, lost);
        }
        sum_up_slow(timed, lost, summary);
    }
    look_at_trend(timed, summary);
    summary.hang = hang_of(run, summary);
    return summary;
}

std::optional<Derived> batch_of(const Run& run) {
    if (const auto* fact = run.fact(Topic::global_batch)) {
        return Derived{fact->value, fact->line, "printed"};
    }
    if (!run.first || !run.last || !run.first->consumed_samples || !run.last->consumed_samples) {
        return std::nullopt;
    }
    const auto samples = *run.last->consumed_samples - *run.first->consumed_samples;
    const auto steps =
        run.first->iteration && run.last->iteration
            ? static_cast<double>(*run.last->iteration) - static_cast<double>(*run.first->iteration)
            : static_cast<double>(run.series.lines()) - 1;
    if (samples <= 0 || steps <= 0) {
        return std::nullopt;
    }
    return Derived{samples / steps, run.last->line, "consumed samples a step"};
}

std::optional<Derived> sequence_of(const Run& run) {
    if (const auto* fact = run.fact(Topic::sequence)) {
        return Derived{fact->value, fact->line, "printed"};
    }
    if (!run.first || !run.last || !run.first->consumed_tokens || !run.last->consumed_tokens ||
        !run.first->consumed_samples || !run.last->consumed_samples) {
        return std::nullopt;
    }
    const auto tokens = *run.last->consumed_tokens - *run.first->consumed_tokens;
    const auto samples = *run.last->consumed_samples - *run.first->consumed_samples;
    if (tokens <= 0 || samples <= 0) {
        return std::nullopt;
    }
    return Derived{tokens / samples, run.last->line, "consumed tokens by consumed samples"};
}

}  // namespace railhead::training
