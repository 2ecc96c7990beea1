#include "plan/sizing_counts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "training/parameters.hpp"

namespace railhead::plan {

namespace {

constexpr double day_s = 86400;
constexpr double most_nodes = 1e7;

}  // namespace

double Counter::mfu_of(double tokens_per_s_per_gpu) const {
    return tokens_per_s_per_gpu * flops_per_token_ / question_->machine.peak_flops;
}

/// A run's MFU gives its tokens a second by its own convention; ours is by that of the question.
Result<double> Counter::mfu_by_run(const PublishedRun& run) const {
    auto convention = training::find_convention(run.convention);
    if (!convention) {
        return propagate(convention);
    }
    auto flops = training::flops_per_token(question_->model, **convention);
    if (!flops) {
        return propagate(flops);
    }
    return run.mfu * flops_per_token_ / flops->total();
}

Result<checkpoint::Recommendation> Counter::recommend(std::uint64_t nodes, double step_s,
                                                      double days) const {
    checkpoint::Question about;
    about.nodes = nodes;
    about.per_1000_node_days = failures_ * question_->per_1000_node_days.value_or(
                                               checkpoint::usual_rate().per_1000_node_days);
    about.published_rate = question_->published_rate;
    if (!question_->per_1000_node_days) {
        about.published_rate = &checkpoint::usual_rate();
    }
    about.bytes = parameters_ * question_->recipe->in_checkpoint();
    about.cost_s = question_->checkpoint_cost_s;
    about.bytes_per_s = question_->storage_bytes_per_s;
    about.restart_s = question_->restart_s;
    about.step_s = step_s;
    about.time_limit_s = days * day_s;
    return checkpoint::recommend(about);
}

/// 0 where nothing is ever finished.
double Counter::goodput(std::uint64_t nodes) const {
    if (question_->goodput) {
        return *question_->goodput;
    }
    checkpoint::Question about;
    constexpr double any_step_s = 1;  // whole steps do not matter here
    const auto recommended = recommend(nodes, any_step_s, 1);
    return recommended ? recommended->chosen.shares.useful : 0;
}

Count Counter::at(std::uint64_t nodes, double mfu) const {
    const auto& question = *question_;
    Count out;
    out.nodes = nodes;
    out.gpus = nodes * question.machine.gpus_per_node;
    out.tokens_per_s =
        static_cast<double>(out.gpus) * question.machine.peak_flops * mfu / flops_per_token_;
    out.step_s = *question.batch_tokens / out.tokens_per_s;
    out.goodput = goodput(nodes);
    out.days = *question.tokens / out.tokens_per_s / out.goodput / day_s;
    return out;
}

Result<Counted> Counter::count_at(double mfu) const {
    const auto& question = *question_;
    Counted out;
    out.mfu = mfu;
    const auto per_node = static_cast<double>(question.machine.gpus_per_node);
    if (question.gpus) {
        const auto nodes = std::ceil(static_cast<double>(*question.gpus) / per_node);
        out.count = at(static_cast<std::uint64_t>(nodes), mfu);
        return out.count.goodput > 0
                   ? Result<Counted>{out}
                   : fail(Errc::bad_input, "so many GPUs never get there: they fail too often");
    }
    out.raw_gpus = *question.tokens * flops_per_token_ /
                   (question.machine.peak_flops * mfu * *question.days * day_s);
    // Goodput falls with the count, so the count only grows, to the least fixed point.
    double nodes = std::ceil(out.raw_gpus / per_node);
    while (nodes <= most_nodes) {
        const auto share = goodput(static_cast<std::uint64_t>(nodes));
        const auto next = share > 0 ? std::ceil(out.raw_gpus / share / per_node) : most_nodes + 1;
        if (next <= nodes) {
            out.count = at(static_cast<std::uint64_t>(nodes), mfu);
            return out;
        }
        nodes = next;
    }
    return fail(Errc::bad_input,
                fmt::format("no number of GPUs does it in {:g} days: the more there are, the more "
                            "often they fail. More days, a quicker checkpoint or restart, or fewer "
                            "failures are needed",
                            *question.days));
}

/// The run that is nearest depends on the count, and the count on its MFU: until they agree, else
/// the run of the lower MFU.
Result<Counted> Counter::count() const {
    const auto& question = *question_;
    if (question.mfu || question.tokens_per_s_per_gpu) {
        return count_at(question.mfu ? *question.mfu : mfu_of(*question.tokens_per_s_per_gpu));
    }
    const auto active = training::active_parameters(question.model);
    const PublishedRun* run = nullptr;
    Result<Counted> counted;
    double gpus = 1024;
    constexpr int most_rounds = 8;
    for (int round = 0; round < most_rounds; ++round) {
        auto near = nearest_run(*question.machine.accelerator, active,
                                question.model.experts.has_value(), gpus);
        if (!near) {
            return propagate(near);
        }
        if (*near == run) {
            break;
        }
        const bool is_late = round > most_rounds / 2;
        if (is_late && (*near)->mfu > run->mfu) {
            break;
        }
        run = *near;
        auto mfu = mfu_by_run(*run);
        if (!mfu) {
            return propagate(mfu);
        }
        counted = count_at(*mfu);
        if (!counted) {
            return counted;
        }
        counted->run = run;
        gpus = static_cast<double>(counted->count.gpus);
    }
    return counted;
}

Counter Counter::with_failures(double factor) const {
    auto out = *this;
    out.failures_ = factor;
    return out;
}

std::vector<std::uint64_t> batches_near(std::uint64_t gpus, std::uint64_t wanted,
                                        std::uint64_t limit) {
    std::vector<std::uint64_t> out;
    constexpr std::uint64_t most_together = 4096;
    for (std::uint64_t together = 1; together <= std::min(gpus, most_together); ++together) {
        if (gpus % together != 0) {
            continue;
        }
        const auto groups = gpus / together;
        const auto below = wanted / groups * groups;
        for (const auto batch : {below, below + groups}) {
            const auto away = batch > wanted ? batch - wanted : wanted - batch;
            if (batch > 0 && batch != wanted && away <= limit) {
                out.push_back(batch);
            }
        }
    }
    const auto distance = [wanted](std::uint64_t batch) {
        return batch > wanted ? batch - wanted : wanted - batch;
    };
    std::sort(out.begin(), out.end(), [&](auto a, auto b) {
        return distance(a) != distance(b) ? distance(a) < distance(b) : a < b;
    });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace railhead::plan
