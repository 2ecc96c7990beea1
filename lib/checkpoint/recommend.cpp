#include "checkpoint/recommend.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "checkpoint/ettr.hpp"

namespace railhead::checkpoint {

namespace {

constexpr double day_s = 86400;
constexpr double usual_restart_s = 300;
constexpr std::uint64_t usual_gpus_per_node = 8;

class Reckoning {
 public:
    explicit Reckoning(const Question& question) : question_{question}, nodes_{count_nodes()} {}

    Result<Failures> failures();
    Result<Checkpoint> checkpoint();
    double restart_s();

    std::vector<Assumption> take_assumptions() { return std::move(assumptions_); }

 private:
    std::optional<std::uint64_t> count_nodes();
    [[nodiscard]] Result<Failures> from_count() const;
    Result<Failures> from_rate(std::uint64_t nodes);
    std::optional<double> count_bytes();

    void assume(std::string_view what, double value, Unit unit, std::string source,
                bool is_guess = true) {
        assumptions_.push_back({what, value, unit, std::move(source), is_guess});
    }

    const Question& question_;
    std::vector<Assumption> assumptions_;
    std::optional<std::uint64_t> nodes_;  // last: counting them may assume something
};

std::optional<std::uint64_t> Reckoning::count_nodes() {
    if (question_.nodes || !question_.gpus) {
        return question_.nodes;
    }
    if (!question_.gpus_per_node) {
        assume("GPUs a node", usual_gpus_per_node, Unit::gpus_per_node,
               "as most training nodes have");
    }
    const auto per_node = question_.gpus_per_node.value_or(usual_gpus_per_node);
    return *question_.gpus / per_node + (*question_.gpus % per_node != 0 ? 1 : 0);
}

Result<Failures> Reckoning::failures() {
    if (question_.failures) {
        return from_count();
    }
    if (!question_.mtbf_s && nodes_) {
        return from_rate(*nodes_);
    }
    if (!question_.mtbf_s) {
        return fail(Errc::bad_input,
                    "nothing tells how often the job fails: give its MTBF, its nodes or GPUs, or "
                    "failures counted in a time");
    }
    Failures out;
    out.mtbf_s = *question_.mtbf_s;
    out.nodes = nodes_;
    out.from = "given";
    return out;
}

Result<Failures> Reckoning::from_count() const {
    auto estimate = estimate_mtbf(*question_.failures, *question_.observed_s);
    if (!estimate) {
        return propagate(estimate);
    }
    Failures out;
    out.nodes = nodes_;
    out.from = fmt::format("{} in {}", count_of(*question_.failures, "failure"),
                           duration_text(static_cast<std::uint64_t>(*question_.observed_s)));
    if (question_.observed_nodes) {
        if (!nodes_) {
            return fail(
                Errc::bad_input,
                "failures observed on other nodes tell nothing unless the job's own nodes or "
                "GPUs are given");
        }
        const auto factor =
            static_cast<double>(*question_.observed_nodes) / static_cast<double>(*nodes_);
        estimate->mtbf_s *= factor;
        estimate->low_s *= factor;
        if (estimate->high_s) {
            *estimate->high_s *= factor;
        }
        out.from += " on " + count_of(*question_.observed_nodes, "node");
    }
    if (*question_.failures == 0) {
        out.from += "; reckoned with half a failure";
    }
    out.mtbf_s = estimate->mtbf_s;
    out.estimate = *estimate;
    return out;
}

Result<Failures> Reckoning::from_rate(std::uint64_t nodes) {
    const auto* published = question_.published_rate;
    if (!question_.per_1000_node_days) {
        published = &usual_rate();
        assume("failure rate", published->per_1000_node_days, Unit::per_1000_node_days,
               fmt::format("{}: {}", published->source, published->counted));
    } else if (published != nullptr) {
        assume("failure rate", published->per_1000_node_days, Unit::per_1000_node_days,
               fmt::format("{}: {}", published->source, published->counted), false);
    }
    const auto rate = question_.per_1000_node_days.value_or(usual_rate().per_1000_node_days);
    auto mtbf_s = gang_mtbf_s(rate, nodes);
    if (!mtbf_s) {
        return propagate(mtbf_s);
    }
    Failures out;
    out.mtbf_s = *mtbf_s;
    out.nodes = nodes;
    out.per_1000_node_days = rate;
    out.from = fmt::format("{}, {:g} failures in 1000 node-days", count_of(nodes, "node"), rate);
    return out;
}

std::optional<double> Reckoning::count_bytes() {
    if (question_.bytes || !question_.params) {
        return question_.bytes;
    }
    const auto* recipe = question_.recipe;
    if (!question_.bytes_per_param) {
        recipe = &usual_recipe();
    }
    if (recipe != nullptr) {
        assume(
            "bytes a parameter", recipe->in_checkpoint(), Unit::bytes_per_param,
            fmt::format("{}: {} ({}); published checkpoints have 12 to 14", recipe->name,
                        recipe->what, recipe->source),
            !question_.bytes_per_param);
    }
    return *question_.params * question_.bytes_per_param.value_or(usual_recipe().in_checkpoint());
}

Result<Checkpoint> Reckoning::checkpoint() {
    Checkpoint out;
    out.bytes = count_bytes();
    std::optional<double> write_s;
    if (question_.bytes_per_s) {
        const Store store{*question_.bytes_per_s, question_.node_bytes_per_s.value_or(0),
                          nodes_.value_or(0), question_.writers.value_or(1)};
        auto bandwidth = write_bandwidth(store);
        if (!bandwidth) {
            return propagate(bandwidth);
        }
        out.bytes_per_s = *bandwidth;
        if (out.bytes) {
            write_s = *out.bytes / *bandwidth;
        }
    }
    if (!write_s && !question_.cost_s) {
        return fail(
            Errc::bad_input,
            "nothing tells what a checkpoint costs: give the time that training stands still "
            "for it, or its size and the bandwidth of its write");
    }
    const auto divided = question_.cost_s ? divide_write(write_s.value_or(0), *question_.cost_s)
                                          : Blocking{*write_s, 0};
    out.cost_s = divided.cost_s;
    out.background_s = divided.background_s;
    if (out.bytes) {
        out.needed_bytes_per_s = *out.bytes / (out.cost_s + out.background_s);
    }
    return out;
}

double Reckoning::restart_s() {
    if (!question_.restart_s) {
        assume("restart time", usual_restart_s, Unit::seconds,
               "what arXiv:2410.21680 assumes; time in the queue comes on top");
    }
    return question_.restart_s.value_or(usual_restart_s);
}

/// The chosen interval, in whole steps where their time is known.
void choose(const Question& question, Recommendation& out) {
    auto interval_s = out.optimum_s;
    if (out.timing.background_s() > interval_s) {
        interval_s = out.timing.background_s();
        out.reason = Reason::background;
    }
    if (question.step_s) {
        const auto steps = interval_s / *question.step_s;
        interval_s =
            *question.step_s *
            std::max(1.0, out.reason == Reason::background ? std::ceil(steps) : std::round(steps));
    }
    out.chosen = outcome_of(out.timing, interval_s, out.span_s);
}

void count_steps(const std::optional<double>& step_s, Outcome& outcome) {
    if (step_s) {
        outcome.steps = outcome.interval_s / *step_s;
    }
}

void price_own(const Question& question, Recommendation& out) {
    if (!question.own_interval_s) {
        return;
    }
    auto interval_s = *question.own_interval_s;
    if (interval_s < out.timing.background_s()) {
        interval_s = out.timing.background_s();
        out.notes.push_back(
            fmt::format("your interval is shorter than a write, which takes {:g} s "
                        "in the background: priced at that",
                        std::round(interval_s)));
    }
    out.own = outcome_of(out.timing, interval_s, out.span_s);
    count_steps(question.step_s, *out.own);
}

Result<void> reckon_levels(const Question& question, Recommendation& out) {
    if (!question.memory_cost_s) {
        return {};
    }
    const auto share = *question.process_share;
    if (!(share > 0 && share < 1)) {
        return fail(Errc::bad_input, fmt::format("a share of {:g} of the failures: it lies between "
                                                 "0 and 1",
                                                 share));
    }
    const auto& timing = out.timing;
    LevelsOutcome outcome;
    outcome.levels = {timing.mtbf_s() / share,
                      timing.mtbf_s() / (1 - share),
                      *question.memory_cost_s,
                      timing.cost_s(),
                      question.memory_restart_s.value_or(timing.restart_s()),
                      timing.restart_s() + timing.background_s()};
    auto pattern = best_pattern(outcome.levels);
    if (!pattern) {
        return propagate(pattern);
    }
    outcome.pattern = *pattern;
    outcome.ettr = 1 / stretch(outcome.levels, outcome.pattern).value();
    outcome.lost_s = (1 - outcome.ettr) * out.span_s;
    out.levels = outcome;
    return {};
}

void add_notes(const Question& question, Recommendation& out) {
    const auto& timing = out.timing;
    const auto cycle_s = out.chosen.interval_s + timing.cost_s();
    if (question.time_limit_s && cycle_s > *question.time_limit_s) {
        out.notes.push_back(
            "the time limit is shorter than one interval: the only checkpoint is the "
            "one before the end of the job");
    }
    constexpr double half = 0.5;
    if (out.chosen.shares.useful < half) {
        out.notes.push_back(
            "more than half of the time is lost even so: a quicker checkpoint, a "
            "quicker restart or fewer failures are needed");
    }
    constexpr double hardly_any = 1e-6;
    if (out.own && out.own->shares.useful < hardly_any) {
        out.notes.push_back("with your interval the job would never end");
    }
}

Result<Recommendation> put_together(const Question& question) {
    Reckoning reckoning{question};
    auto failures = reckoning.failures();
    if (!failures) {
        return propagate(failures);
    }
    auto checkpoint = reckoning.checkpoint();
    if (!checkpoint) {
        return propagate(checkpoint);
    }
    auto timing = Timing::make(
        {failures->mtbf_s, checkpoint->cost_s, reckoning.restart_s(), checkpoint->background_s});
    if (!timing) {
        return propagate(timing);
    }
    Recommendation out{*timing};
    out.failures = std::move(*failures);
    out.checkpoint = *checkpoint;
    out.assumptions = reckoning.take_assumptions();
    return out;
}

}  // namespace

Outcome outcome_of(const Timing& timing, double interval_s, double span_s) {
    Outcome out;
    out.interval_s = interval_s;
    out.shares = shares_of(timing, interval_s);
    out.ettr_v1 = ettr_v1(timing, interval_s);
    out.ettr_v2 = ettr_v2(timing, interval_s);
    out.lost_s = out.shares.waste() * span_s;
    return out;
}

Result<Recommendation> recommend(const Question& question) {
    if (auto checked = check_question(question); !checked) {
        return propagate(checked);
    }
    auto out = put_together(question);
    if (!out) {
        return out;
    }
    out->has_time_limit = question.time_limit_s.has_value();
    out->span_s = question.time_limit_s.value_or(day_s);
    out->failures.expected = out->span_s / out->timing.mtbf_s();
    out->failures.none_chance = std::exp(-out->failures.expected);
    out->young_s = young_s(out->timing);
    out->daly_first_order_s = daly_first_order_s(out->timing);
    out->daly_s = daly_s(out->timing);
    out->optimum_s = optimum_s(out->timing);
    choose(question, *out);
    count_steps(question.step_s, out->chosen);
    if (out->checkpoint.bytes) {
        out->checkpoint.average_bytes_per_s =
            *out->checkpoint.bytes / (out->chosen.interval_s + out->timing.cost_s());
    }
    price_own(question, *out);
    if (auto levels = reckon_levels(question, *out); !levels) {
        return propagate(levels);
    }
    add_notes(question, *out);
    return out;
}

}  // namespace railhead::checkpoint
