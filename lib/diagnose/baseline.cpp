#include "diagnose/baseline.hpp"

#include <algorithm>

namespace railhead::diagnose {

namespace {

using training::LogSummary;
using training::Topic;

struct Means {
    double usual = 0, slow = 0, validation = 0, checkpoint = 0;
};

/// What is interrupted takes longer than usual; per step of the run.
double extra(const training::Interrupted& what, const LogSummary& summary) {
    if (what.count == 0 || summary.lines == 0) {
        return 0;
    }
    return std::max(0.0, what.time - summary.time.median) * static_cast<double>(what.count) /
           static_cast<double>(summary.lines);
}

Means means_of(const LogSummary& summary) {
    Means means;
    means.usual = summary.time.median;
    const double share = std::min(summary.slow.lost_share, 0.99);
    means.slow = means.usual * share / (1 - share);
    means.validation = extra(summary.validation, summary);
    means.checkpoint = extra(summary.checkpoint, summary);
    return means;
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
    const auto first = means_of(old);
    const auto second = means_of(fresh);
    Comparison result;
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
        result.mfu_before = before.mfu->utilization.mfu;
        result.mfu_now = now.mfu->utilization.mfu;
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
