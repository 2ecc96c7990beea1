// Of the gate: does training wait for the storage?
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/gate_checks.hpp"
#include "training/statistics.hpp"

namespace railhead::diagnose {

namespace {

constexpr GateDefault usual_checkpoint{
    0.05, "without a source (BLOOM's took 0.4 %, 40 s in 3 h); [gate] sets another"};
constexpr GateDefault usual_loader{
    0.05, "from there on railhead diagnose calls a run loader-bound; [gate] sets another"};

/// What checkpoints in the log took training, and how far they are apart.
class LoggedCheckpoints {
 public:
    explicit LoggedCheckpoints(const GateQuestion& question)
        : sources_{question.facts != nullptr ? &question.facts->sources : nullptr},
          training_{question.facts != nullptr ? question.facts->main_training() : nullptr} {
        if (training_ == nullptr) {
            return;
        }
        for (const auto& event : training_->run().events) {
            if (event.kind != training::EventKind::checkpoint_save) {
                continue;
            }
            line_ = line_ == 0 ? event.line : line_;
            if (event.duration_s) {
                costs_s_.push_back(*event.duration_s);
            }
            if (event.iteration && last_ && *event.iteration > *last_) {
                apart_.push_back(static_cast<double>(*event.iteration - *last_));
            }
            last_ = event.iteration ? event.iteration : last_;
        }
    }

    void fill(CheckpointFigures& figures) const {
        if (line_ == 0) {
            return;
        }
        const auto place = place_of(*sources_, training_->at(line_));
        const auto& summary = training_->summary;
        const bool has_steps =
            summary.measure == training::Measure::step_s && summary.time.median > 0;
        if (!figures.cost_s && !costs_s_.empty()) {
            figures.cost_s = training::median_of(costs_s_);
            figures.cost_from =
                fmt::format("median of {}, {}", count_of(costs_s_.size(), "write"), place);
        } else if (!figures.cost_s && has_steps && summary.checkpoint.count > 0 &&
                   summary.checkpoint.time > summary.time.median) {
            figures.cost_s = summary.checkpoint.time - summary.time.median;
            figures.cost_from = fmt::format("steps after a checkpoint are longer by it, {}", place);
        }
        if (!figures.interval_s && has_steps && !apart_.empty()) {
            figures.interval_s = training::median_of(apart_) * summary.time.median;
            figures.interval_from =
                fmt::format("every {:.0f} steps, {}", training::median_of(apart_), place);
        }
    }

 private:
    const Sources* sources_;
    const TrainingFacts* training_;
    std::vector<double> costs_s_, apart_;
    std::optional<std::uint64_t> last_;
    std::uint64_t line_ = 0;
};

GateCheck check_checkpoints(const GateQuestion& question) {
    auto check = make_check(
        GateGroup::storage, "checkpoint", "training stands still for checkpoints", GateUnit::share,
        make_aim(question.targets.checkpoint_share, usual_checkpoint, false, AimText::share));
    const auto figures = find_checkpoints(question);
    if (!figures.cost_s || !figures.interval_s || !(*figures.interval_s > 0)) {
        check.missing = {figures.cost_s ? "the interval that the job has"
                                        : "what a checkpoint costs"};
        check.run = {
            "a training log with checkpoints; or --cost 40s --interval 1h; or gate JOB, "
            "for a job with --ckpt-dir"};
        return check;
    }
    const auto share = *figures.cost_s / *figures.interval_s;
    judge(check, share,
          fmt::format("{} of the interval: {} every {}", percent_text(share),
                      span_text(*figures.cost_s), span_text(*figures.interval_s)),
          figures.cost_from);
    check.details = {fmt::format("Interval: {}.", figures.interval_from)};
    if (check.verdict == GateVerdict::fail) {
        check.advice = {"write asynchronously: training waits for the copy to host memory alone",
                        "railhead storage tells the bandwidth that a shorter stall needs"};
    }
    return check;
}

GateCheck check_loader(const GateQuestion& question) {
    auto check =
        make_check(GateGroup::storage, "loader", "steps wait for samples", GateUnit::share,
                   make_aim(question.targets.loader_share, usual_loader, false, AimText::share));
    std::optional<double> most;
    std::string of;
    const auto traces = question.facts != nullptr ? std::span{question.facts->machine.traces}
                                                  : std::span<const ProfilerTrace>{};
    for (const auto& trace : traces) {
        if (trace.steps > 0 && trace.step_us > 0) {
            const auto share = trace.loader_us / (static_cast<double>(trace.steps) * trace.step_us);
            if (!most || share > *most) {
                most = share;
                of = trace.rank ? fmt::format("trace of PyTorch's profiler, rank {}, {}",
                                              *trace.rank, count_of(trace.steps, "step"))
                                : fmt::format("trace of PyTorch's profiler, {}",
                                              count_of(trace.steps, "step"));
            }
        }
    }
    if (!most) {
        check.missing = {"a trace of PyTorch's profiler with steps"};
        check.run = {
            "torch.profiler.profile(schedule=..., "
            "on_trace_ready=tensorboard_trace_handler(DIR)), a step() a step; railhead "
            "gate DIR/*.json"};
        return check;
    }
    judge(check, *most, percent_text(*most) + " of a step", of);
    if (check.verdict == GateVerdict::fail) {
        check.advice = {
            "DataLoader(num_workers=CPUs of the task, prefetch_factor=4, "
            "pin_memory=True, persistent_workers=True)",
            "packed shards on local disks; a run on made-up samples shows what there "
            "is to gain"};
    }
    return check;
}

}  // namespace

CheckpointFigures find_checkpoints(const GateQuestion& question) {
    CheckpointFigures figures;
    figures.cost_s = question.cost_s;
    figures.cost_from = question.cost_s ? "--cost" : "";
    figures.interval_s = question.interval_s;
    figures.interval_from = question.interval_s ? "--interval" : "";
    if (!question.checkpoints.empty()) {
        const auto& record = question.checkpoints.back();
        if (!figures.interval_s && record.interval_s > 0) {
            figures.interval_s = record.interval_s;
            figures.interval_from = fmt::format("declared by job {}, its record", record.job);
        }
        if (const auto cost_s = record.mean_cost_s(); cost_s && !figures.cost_s) {
            figures.cost_s = cost_s;
            figures.cost_from = fmt::format("mean of {}, record of job {}",
                                            count_of(record.costs, "write"), record.job);
        }
    }
    LoggedCheckpoints{question}.fill(figures);
    if (!figures.cost_s && question.site.cost_s) {
        figures.cost_s = *question.site.cost_s;
        figures.cost_from = "[checkpoint] cost of the policy";
    }
    return figures;
}

void check_storage(const GateQuestion& question, std::vector<GateCheck>& checks) {
    checks.push_back(check_checkpoints(question));
    checks.push_back(check_loader(question));
}

}  // namespace railhead::diagnose
