#include "plan/sizing.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "plan/sizing_counts.hpp"
#include "plan/sizing_parts.hpp"
#include "plan/spares.hpp"
#include "training/mfu.hpp"
#include "training/parameters.hpp"

namespace railhead::plan {

namespace {

constexpr double spare_chance = 0.99;

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

/// Fills the gaps of a question, and answers it.
class Sizer {
 public:
    explicit Sizer(SizeQuestion question) { out_.question = std::move(question); }
    Result<SizeAnswer> answer();

 private:
    Result<void> count();
    Result<void> judge();
    void add_network();
    Result<void> add_failures();
    void add_power();
    void add_sensitivity();

    SizeAnswer out_;
    std::optional<Counter> counter_;
};

Result<void> Sizer::count() {
    auto flops = training::flops_per_token(out_.question.model, *out_.question.convention);
    if (!flops) {
        return propagate(flops);
    }
    out_.flops_per_token = flops->total();
    counter_.emplace(out_.question, out_.flops_per_token, out_.parameters);
    auto counted = counter_->count();
    if (!counted) {
        return propagate(counted);
    }
    out_.steps = std::ceil(*out_.question.tokens / *out_.question.batch_tokens);
    out_.mfu = counted->mfu;
    out_.run = counted->run;
    out_.raw_gpus = counted->raw_gpus;
    out_.rounded = counted->count;
    if (out_.run != nullptr) {
        const auto& run = *out_.run;
        out_.assumed.push_back(
            {"MFU", fmt::format("{:.1f} % by \"{}\"", run.mfu * 100, run.convention),
             fmt::format("{} on {:g} GPUs: {}", run.model, run.gpus, run.source)});
    }
    return {};
}

/// What was given of the speed, against the peak, the best matmul and what was published.
Result<void> Sizer::judge() {
    const auto& question = out_.question;
    if (!question.mfu && !question.tokens_per_s_per_gpu) {
        return {};
    }
    training::Utilization about;
    about.mfu = about.hfu = out_.mfu;
    about.peak_tflops = question.machine.peak_flops / 1e12;
    about.convention = question.convention;
    const auto judged =
        training::judge(about, *question.machine.accelerator, question.machine.precision);
    if (judged.doubt == training::Doubt::impossible) {
        return fail(Errc::bad_input, judged.reason);
    }
    if (judged.doubt != training::Doubt::none) {
        out_.notes.push_back(judged.reason);
    }
    return {};
}

void Sizer::add_network() {
    const auto& question = out_.question;
    const auto& count = out_.chosen();
    if (!out_.layouts.ranked.empty()) {
        const auto& layout = out_.layouts.ranked.front().layout;
        const auto copies = as_double(layout.cp * layout.groups());
        const auto members = members_of(question.machine, layout);
        if (copies > members) {
            out_.gradients =
                gradients_of(traffic_of(question.model, layout, *question.recipe), copies, members,
                             count.step_s, question.machine.network_bytes_per_s);
            out_.rails = rails_of(question.machine, layout, *out_.gradients);
        }
    }
    if (count.nodes > 1) {
        if (auto plan = plan_fabric(question.machine, count.nodes)) {
            out_.fabric = std::move(*plan);
        } else {
            out_.notes.push_back("no fabric was planned: " + to_string(plan.error()));
        }
    }
}

Result<void> Sizer::add_failures() {
    const auto& count = out_.chosen();
    auto recommended = counter_->recommend(count.nodes, count.step_s, count.days);
    if (!recommended) {
        return propagate(recommended);
    }
    out_.failures = recommended->failures.expected;
    const auto rate = recommended->failures.per_1000_node_days.value_or(0);
    out_.repair_s = *out_.question.repair_s;
    out_.spares = spare_nodes(count.nodes, unavailability(rate, out_.repair_s), spare_chance);
    out_.checkpoint = std::move(*recommended);
    return {};
}

void Sizer::add_power() {
    const auto& count = out_.chosen();
    auto& power = out_.power;
    constexpr double hours = 24;
    power.node_w = out_.question.machine.node_power_w;
    power.pue = *out_.question.pue;
    power.total_w = power.node_w * as_double(count.nodes) * power.pue;
    power.energy_wh = power.total_w * count.days * hours;
}

void Sizer::add_sensitivity() {
    constexpr double points = 0.05;
    const auto nodes = out_.chosen().nodes;
    const auto add = [&](std::string what, const Counter& counter, double mfu) {
        if (!(mfu > 0 && mfu < 1)) {
            return;
        }
        if (const auto counted = counter.count_at(mfu)) {
            out_.sensitivity.push_back(
                {std::move(what), counted->count, counter.at(nodes, mfu).days});
        }
    };
    for (const auto mfu : {out_.mfu - points, out_.mfu + points}) {
        add(fmt::format("MFU {:.1f} %", mfu * 100), *counter_, mfu);
    }
    if (!out_.question.goodput) {
        add("failure rate x 2", counter_->with_failures(2), out_.mfu);
    }
}

Result<SizeAnswer> Sizer::answer() {
    if (auto right = check_question(out_.question); !right) {
        return propagate(right);
    }
    out_.assumed = out_.question.machine.assumed;
    fill_gaps(out_);
    if (auto right = check_question(out_.question); !right) {
        return propagate(right);
    }
    for (auto step : {&Sizer::count, &Sizer::judge}) {
        if (auto done = (this->*step)(); !done) {
            return propagate(done);
        }
    }
    if (auto done = lay_out(out_, *counter_); !done) {
        return propagate(done);
    }
    add_network();
    if (auto done = add_failures(); !done) {
        return propagate(done);
    }
    add_power();
    add_sensitivity();
    return std::move(out_);
}

}  // namespace

Result<SizeAnswer> size_cluster(SizeQuestion question) {
    return Sizer{std::move(question)}.answer();
}

}  // namespace railhead::plan
