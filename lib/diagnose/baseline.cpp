#include "diagnose/baseline.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

namespace railhead::diagnose {

namespace {

using training::Sample;
using training::Topic;

struct Means {
    double usual = 0, slow = 0, validation = 0, checkpoint = 0;
};

double mean_of(std::span<const Sample> samples) {
    double sum = 0;
    for (const auto& sample : samples) {
        sum += sample.time;
    }
    return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

/// Parts that add up to the mean of all steps but those of the warm-up.  A median would not see a
/// run of which less than half is slow.
Means means_of(const TrainingFacts& facts) {
    const auto& summary = facts.summary;
    std::vector<Sample> all;
    std::ranges::copy_if(facts.run().series.samples(), std::back_inserter(all),
                         [](const Sample& sample) { return std::isfinite(sample.time); });
    const auto warm_up = std::min<std::uint64_t>(summary.warm_up / summary.stride, all.size());
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(warm_up));
    auto plain = all;
    std::erase_if(plain, [](const Sample& sample) {
        return (sample.marks & (training::after_validation | training::after_checkpoint)) != 0;
    });
    Means means;
    const double mean = mean_of(plain.empty() ? all : plain);
    means.slow = mean * std::min(summary.slow.lost_share, 0.99);
    means.usual = mean - means.slow;
    for (const auto& sample : all) {
        const double extra = (sample.time - mean) / static_cast<double>(all.size());
        if (!plain.empty() && (sample.marks & training::after_checkpoint) != 0) {
            means.checkpoint += extra;
        } else if (!plain.empty() && (sample.marks & training::after_validation) != 0) {
            means.validation += extra;
        }
    }
    return means;
}

/// The MFU of the mean step: that of the log is of the usual one.
double mean_mfu(const TrainingFacts& facts, double mean) {
    return facts.mfu->utilization.mfu * facts.summary.time.median / mean;
}

/// Tokens of what is timed: of a step, or of a sample; nothing where the log does not tell.
std::optional<double> tokens_of(const TrainingFacts& facts) {
    const auto batch = training::batch_of(facts.run());
    const auto sequence = training::sequence_of(facts.run());
    std::optional<double> length;
    if (sequence) {
        length = sequence->value;
    } else if (facts.mfu && facts.mfu->shape.sequence > 0) {
        length = static_cast<double>(facts.mfu->shape.sequence);
    }
    if (facts.summary.measure == training::Measure::seconds_a_sample) {
        return length;
    }
    return batch && length ? std::optional{batch->value * *length} : std::nullopt;
}

/// Batches alone, where no sequence is told: enough to see that they differ.
std::optional<double> batches_of(const TrainingFacts& facts) {
    const auto batch = training::batch_of(facts.run());
    return batch ? std::optional{batch->value} : std::nullopt;
}

/// What the times of `now` are to be multiplied with to be those of as many tokens as before.
double to_tokens_before(const TrainingFacts& before, const TrainingFacts& now,
                        Comparison& comparison) {
    if (now.summary.measure == training::Measure::seconds_a_token_gpu) {
        return 1;
    }
    auto was = tokens_of(before);
    auto is = tokens_of(now);
    if (!was || !is) {
        // Two logs that tell no sequence have the same, as far as anybody knows.
        was = !tokens_of(before) && !tokens_of(now) ? batches_of(before) : std::nullopt;
        is = was ? batches_of(now) : std::nullopt;
        comparison.tokens_unknown = !was || !is;
    }
    if (!was || !is || !(*was > 0) || !(*is > 0) || *was == *is) {
        return 1;
    }
    comparison.tokens_before = was;
    comparison.tokens_now = is;
    return *was / *is;
}

}  // namespace

Result<Comparison> compare(const TrainingFacts& before, const TrainingFacts& now) {
    const auto& old = before.summary;
    const auto& fresh = now.summary;
    if (old.timed == 0 || fresh.timed == 0) {
        return fail(Errc::bad_input, "one of the two logs has no step times");
    }
    if (old.measure != fresh.measure) {
        return fail(Errc::bad_input, "the two logs time their steps in different units");
    }
    const auto first = means_of(before);
    auto second = means_of(now);
    Comparison result;
    const double mean_now = second.usual + second.slow + second.validation + second.checkpoint;
    const double scale = to_tokens_before(before, now, result);
    for (auto* part : {&second.usual, &second.slow, &second.validation, &second.checkpoint}) {
        *part *= scale;
    }
    result.measure = fresh.measure;
    result.before = first.usual + first.slow + first.validation + first.checkpoint;
    result.now = second.usual + second.slow + second.validation + second.checkpoint;
    const auto add = [&](std::string_view what, double was, double is) {
        result.parts.push_back({what, was, is, (is - was) / result.before});
    };
    add("the usual step", first.usual, second.usual);
    add("slow steps", first.slow, second.slow);
    add("after validations", first.validation, second.validation);
    add("after checkpoints", first.checkpoint, second.checkpoint);
    if (before.mfu && now.mfu) {
        result.mfu_before = mean_mfu(before, result.before);
        result.mfu_now = mean_mfu(now, mean_now);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(Topic::count_); ++i) {
        const auto topic = static_cast<Topic>(i);
        const auto was = before.said(topic);
        const auto is = now.said(topic);
        if (was != is) {
            result.changed.push_back({name_of(topic), was, is});
        }
    }
    return result;
}

}  // namespace railhead::diagnose
