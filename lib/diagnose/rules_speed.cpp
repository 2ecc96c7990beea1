// Rules on the step times of a training log.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

using training::EventKind;
using training::Measure;

/// Less of the time than this is in every healthy run.
constexpr double worth_a_look = 0.01;

/// The log to look at; null with what is missing.
const TrainingFacts* timed(const Facts& facts, Finding& answer) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        answer = unknown({Input::training_log});
        return nullptr;
    }
    if (training->summary.timed < 3) {
        answer = unknown({Input::step_times});
        return nullptr;
    }
    return training;
}

std::string speed(Measure measure, double time) {
    switch (measure) {
        case Measure::seconds_a_token_gpu:
            return fmt::format("{:.4g} tokens/s a GPU", 1 / time);
        case Measure::seconds_a_sample:
            return fmt::format("{:.4g} samples/s", 1 / time);
        case Measure::step_s:
        case Measure::none:
            break;
    }
    return fmt::format("{:.4g} s", time);
}

/// All ranks wait for the slowest: a step time that rises at once and stays is one part that got
/// slow, since nothing else changes between two steps.
Finding find_slow_part(const Facts& facts) {
    Finding answer;
    const auto* training = timed(facts, answer);
    if (training == nullptr) {
        return answer;
    }
    const auto& shifts = training->summary.shifts;
    if (shifts.empty()) {
        return not_found();
    }
    const double now = shifts.back().after.time;
    const auto worst = std::ranges::max_element(
        shifts, {}, [](const training::Shift& shift) { return shift.change(); });
    if (worst->change() < training::least_change ||
        now < worst->before.time * (1 + training::least_change)) {
        return not_found();  // it got faster, or is back where it was
    }
    const auto measure = training->summary.measure;
    auto what =
        fmt::format("From iteration {} on steps take {:.1f} % longer and stay so: {} became {}",
                    worst->settled, worst->change() * 100, speed(measure, worst->before.time),
                    speed(measure, worst->after.time));
    if (worst->before.tflops && worst->after.tflops) {
        what += fmt::format(" ({:.1f} to {:.1f} TFLOP/s a GPU as printed)", *worst->before.tflops,
                            *worst->after.tflops);
    }
    what += ". One GPU, node or link that got slow slows all: every rank waits for the last.";
    auto finding = found(Confidence::likely, std::move(what), {training->at(worst->line)});
    const double share = 1 - worst->before.time / now;
    finding.step_share = share;
    finding.fix = {
        "on each node of the job: nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE; dcgmi diag -r 3",
        "a fixed GEMM on each GPU apart finds a slow GPU; a test of the network does not",
        "scontrol update nodename=NODE state=drain reason=slow-gpu; scontrol requeue JOB"};
    finding.expected = expected_text(facts, share);
    return finding;
}

Finding find_checkpoint_stall(const Facts& facts) {
    Finding answer;
    const auto* training = timed(facts, answer);
    if (training == nullptr) {
        return answer;
    }
    const auto& summary = training->summary;
    std::vector<Evidence> evidence;
    std::vector<double> durations;
    for (const auto& event : training->run().events) {
        if (event.kind == EventKind::checkpoint_save) {
            evidence.push_back(training->at(event.line));
            if (event.duration_s) {
                durations.push_back(*event.duration_s);
            }
        }
    }
    if (evidence.empty() || summary.measure != Measure::step_s) {
        return unknown({Input::checkpoints});
    }
    const double usual = summary.time.median;
    const double stall = durations.empty() ? std::max(0.0, summary.checkpoint.time - usual)
                                           : training::median_of(durations);
    const double count = static_cast<double>(evidence.size() + training->run().events_left_out);
    const double trained = static_cast<double>(summary.lines) * usual;
    const double share = stall * count / (trained + stall * count);
    if (share < worth_a_look) {
        return not_found();
    }
    evidence.resize(std::min<std::size_t>(evidence.size(), 3));
    auto finding = found(
        Confidence::certain,
        fmt::format("{} of {:.3g} s stop the training for {:.1f} % of its time.",
                    count_of(static_cast<std::uint64_t>(count), "checkpoint"), stall, share * 100),
        std::move(evidence));
    finding.step_share = share;
    finding.fix = {
        "write them asynchronously (torch.distributed.checkpoint.async_save, --async-save)",
        fmt::format("railhead ckpt --cost {:.3g}s --nodes N   # the interval that loses least",
                    stall)};
    finding.expected = expected_text(facts, share);
    return finding;
}

Finding find_periodic(const Facts& facts) {
    Finding answer;
    const auto* training = timed(facts, answer);
    if (training == nullptr) {
        return answer;
    }
    const auto& slow = training->summary.slow;
    if (!slow.every || slow.lost_share < worth_a_look) {
        return not_found();
    }
    const auto& worst = slow.worst.front();
    auto finding =
        found(Confidence::likely,
              fmt::format("One in {:.0f} iterations is slow, {} in all, {:.1f} % of the time; the "
                          "slowest is {} at {} instead of {}. Something that runs at even "
                          "distances stops all: garbage collection, logging, a new shard.",
                          *slow.every, slow.count, slow.lost_share * 100, worst.iteration,
                          speed(training->summary.measure, worst.time),
                          speed(training->summary.measure, worst.usual)),
              {training->at(worst.line)});
    finding.step_share = slow.lost_share;
    finding.fix = {"nsys profile -t cuda,nvtx,osrt over two periods: what runs in the gap",
                   "gc.disable() and gc.collect() every 1000 steps on all ranks together",
                   "prefetch the next shard; log every 10 or 100 steps"};
    finding.expected = expected_text(facts, slow.lost_share);
    return finding;
}

Finding find_jitter(const Facts& facts) {
    Finding answer;
    const auto* training = timed(facts, answer);
    if (training == nullptr) {
        return answer;
    }
    constexpr std::uint64_t least = 5;  // fewer have no spread to speak of
    if (training->summary.timed < least) {
        return unknown({Input::step_times});
    }
    const auto& slow = training->summary.slow;
    if (slow.every || slow.lost_share < worth_a_look || slow.worst.empty()) {
        return not_found();
    }
    const auto& worst = slow.worst.front();
    auto finding =
        found(Confidence::certain,
              fmt::format("{} without a pattern take {:.1f} % of the time; the slowest is {} at {} "
                          "instead of {}.",
                          count_of(slow.count, "slow step"), slow.lost_share * 100, worst.iteration,
                          speed(training->summary.measure, worst.time),
                          speed(training->summary.measure, worst.usual)),
              {training->at(worst.line)});
    finding.role = Role::symptom;
    finding.step_share = slow.lost_share;
    finding.fix = {"a run of 50 steps on made-up samples: if they are even, the loader is late",
                   "dcgmi dmon -e 100,140,150,155,203,204 while it runs: clocks that drop",
                   "the leaf switches' counters at these times: other jobs on the same links"};
    finding.expected = expected_text(facts, slow.lost_share);
    return finding;
}

Finding find_trend(const Facts& facts) {
    Finding answer;
    const auto* training = timed(facts, answer);
    if (training == nullptr) {
        return answer;
    }
    const auto& summary = training->summary;
    if (!summary.trend) {
        return summary.levels.size() > 1 ? not_found() : unknown({Input::step_times});
    }
    if (summary.trend_share < training::least_change) {
        return not_found();
    }
    const double share = summary.trend_share / (1 + summary.trend_share);
    auto finding =
        found(Confidence::likely,
              fmt::format("Steps get slower all the time, {:.1f} % over the log (p = {:.1g}): "
                          "memory that fragments or leaks, or GPUs that get warm.",
                          summary.trend_share * 100, summary.trend->p_value),
              {training->at(training->run().first_line)});
    finding.step_share = share;
    finding.fix = {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                   "dcgmi dmon -e 100,140,150,155,203,204: clocks and temperatures over an hour",
                   "torch.cuda.memory_summary() early and late: what grows"};
    finding.expected = expected_text(facts, share);
    return finding;
}

constexpr std::string_view of_slow_part[] = {"slow-steps", "slowing-down", "low-mfu"};
constexpr std::string_view of_stall[] = {"periodic-stall", "slow-steps"};

constexpr Rule rules[] = {
    {"slow-part", "steps that became longer at once and stayed so",
     "one GPU, node or link that is slow sets the pace of all", of_slow_part, find_slow_part, true},
    {"checkpoint-stall", "training that stops while checkpoints are written",
     "GPUs do nothing while a checkpoint is on its way to storage", of_stall,
     find_checkpoint_stall},
    {"periodic-stall",
     "slow steps at even distances",
     "what runs on one rank's host stops the GPUs of all",
     {},
     find_periodic},
    {"slowing-down",
     "steps that become longer and longer",
     "what leaks or fragments ends in an out-of-memory error",
     {},
     find_trend},
    {"slow-steps",
     "slow steps without a pattern",
     "every rank waits for the one that is late",
     {},
     find_jitter},
};

}  // namespace

std::span<const Rule> speed_rules() {
    return rules;
}

}  // namespace railhead::diagnose
