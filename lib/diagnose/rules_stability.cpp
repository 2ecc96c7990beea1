// Rules on losses, skipped iterations and hangs of a training log.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/rules.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::uint64_t warm_up_iterations = 100;  // in which losses are wild
constexpr std::uint64_t soon_iterations = 100;     // a loss that is back by then has lost little

Finding find_nan(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    const auto& run = training->run();
    if (run.nan_losses == 0 && run.nan == 0) {
        return not_found();
    }
    const auto& samples = run.series.samples();
    const auto first =
        std::ranges::find_if(samples, [](const auto& sample) { return std::isinf(sample.loss); });
    const auto line = first != samples.end() ? first->line : 0;  // of a NaN no line is kept
    auto finding = found(Confidence::certain,
                         fmt::format("{} have a loss that is no number, and the run counts {:.0f} "
                                     "iterations with NaN.",
                                     count_of(run.nan_losses, "line"), run.nan),
                         {training->at(line)});
    finding.role = Role::symptom;
    finding.fix = {
        "go back to the last checkpoint before it, and skip the samples that came then",
        "if another seed or order of samples has it too: a lower learning rate, clip gradients",
        "if the same steps are well on other nodes: one GPU may compute wrong (dcgmi diag -r 4)"};
    finding.expected = "training goes on; steps after the NaN are lost";
    return finding;
}

/// Gradient norms up to the first loss that is no number; infinite ones are kept, others that are
/// no number are not.
struct Norms {
    std::vector<const training::Sample*> samples;
    const training::Sample* broken = nullptr;  ///< the first whose loss is no number
};

Norms norms_of(const training::Run& run) {
    Norms norms;
    bool had_loss = false;
    for (const auto& sample : run.series.samples()) {
        if (had_loss && !std::isfinite(sample.loss) && run.nan_losses > 0) {
            norms.broken = &sample;
            break;
        }
        had_loss = had_loss || std::isfinite(sample.loss);
        if (!std::isnan(sample.grad_norm) && sample.iteration >= warm_up_iterations) {
            norms.samples.push_back(&sample);
        }
    }
    return norms;
}

double middle_norm(std::vector<const training::Sample*> samples) {
    const auto at = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, at, {}, &training::Sample::grad_norm);
    return (*at)->grad_norm;
}

/// Norms that rise and do not come back.
struct BlowUp {
    double usual = 0;
    const training::Sample* first = nullptr;  ///< above twice the usual
    const training::Sample* last = nullptr;
};

/// Of a tenfold rise in the last step before a loss that is no number, or in each of the last few:
/// a norm that is back in the next step is clipped.
std::optional<BlowUp> blow_up_of(const Norms& norms) {
    const auto& samples = norms.samples;
    constexpr std::ptrdiff_t tail = 3;
    constexpr double rise = 10;
    const double usual = middle_norm(samples);
    const auto is_high = [&](const training::Sample* one) {
        return one->grad_norm >= rise * usual;
    };
    const auto needed = norms.broken != nullptr ? 1 : tail;
    if (!(usual > 0) || !std::all_of(samples.end() - needed, samples.end(), is_high)) {
        return std::nullopt;
    }
    auto first = samples.end() - 1;
    while (first != samples.begin() && (*(first - 1))->grad_norm > 2 * usual) {
        --first;
    }
    return BlowUp{usual, *first, samples.back()};
}

Finding find_blow_up(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    const auto norms = norms_of(training->run());
    constexpr std::size_t least = 20;  // to know what is usual
    if (norms.samples.size() < least) {
        return unknown({Input::grad_norms});
    }
    const auto blow_up = blow_up_of(norms);
    if (!blow_up) {
        return not_found();
    }
    const auto begin = blow_up->first->iteration;
    const bool is_broken = norms.broken != nullptr;
    auto finding = found(
        is_broken ? Confidence::certain : Confidence::likely,
        fmt::format("The gradient norm rose from {:.3g}, as usual, to {:.3g}, from iteration {} "
                    "on{}.",
                    blow_up->usual, blow_up->last->grad_norm, begin,
                    is_broken ? fmt::format("; at iteration {} the loss was no number",
                                            norms.broken->iteration)
                              : std::string{", and is not back"}),
        {training->at(blow_up->first->line), training->at(blow_up->last->line)});
    finding.role = Role::symptom;
    finding.fix = {
        fmt::format("start again from the last checkpoint before iteration {}, and skip the "
                    "samples since then",
                    begin),
        "--clip-grad 1.0 (Megatron-LM), max_norm=1.0: is it on?  A lower learning rate, a longer "
        "warm-up, --qk-layernorm",
        "if the same steps are well on other nodes: one GPU may compute wrong (dcgmi diag -r 4)"};
    const auto& last = training->run().last;
    const auto end = last && last->iteration ? *last->iteration : blow_up->last->iteration;
    finding.expected = fmt::format("training goes on; {} are to be done again",
                                   count_of(end + 1 - begin, "iteration"));
    return finding;
}

Finding find_spike(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    std::vector<training::LossSpike> spikes = training->summary.spikes;
    std::erase_if(spikes, [](const auto& one) { return one.iteration < warm_up_iterations; });
    if (spikes.empty()) {
        return not_found();
    }
    const auto stays = [](const training::LossSpike& one) {
        return !one.recovered || *one.recovered > one.iteration + soon_iterations;
    };
    const auto worst = std::ranges::find_if(spikes, stays);
    const auto& spike = worst != spikes.end() ? *worst : spikes.front();
    auto finding =
        found(Confidence::certain,
              fmt::format("The loss jumped from {:.3g} to {:.3g} at iteration {}, {}.",
                          spike.before, spike.loss, spike.iteration,
                          spike.recovered ? fmt::format("and was back by {}", *spike.recovered)
                                          : std::string{"and is not back in this log"}),
              {training->at(spike.line)});
    finding.role = stays(spike) ? Role::symptom : Role::advice;
    finding.fix = {"start again from a checkpoint some hundred steps before, and skip the samples",
                   "clip gradients (1.0), a lower learning rate, a longer warm-up",
                   "bf16 in place of fp16"};
    finding.expected = "speed does not change; the steps since then may be lost";
    return finding;
}

Finding find_skipped(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr || !training->run().last || !training->run().last->skipped) {
        return unknown({Input::training_log});
    }
    const auto& run = training->run();
    if (!run.first->iteration || !run.last->iteration) {
        return unknown({Input::training_log});
    }
    const auto iterations = static_cast<double>(*run.last->iteration - *run.first->iteration + 1);
    constexpr double normal = 0.01;  // a loss scale that is tried and taken back
    constexpr double least = 32;     // halvings from a first loss scale of 2^32 down to 1
    if (run.skipped < least || run.skipped < normal * iterations) {
        return not_found();
    }
    const double share = std::min(1.0, run.skipped / iterations);
    auto finding =
        found(Confidence::certain,
              fmt::format("{:.0f} of {:.0f} iterations were skipped: gradients overflowed at any "
                          "loss scale.",
                          run.skipped, iterations),
              {training->at(run.last->line)});
    finding.role = Role::symptom;
    finding.fix = {"bf16 in place of fp16: it needs no loss scale",
                   "a lower learning rate; look for the samples that do it",
                   "a GPU that computes wrong does so too: dcgmi diag -r 4 on each node"};
    finding.expected = fmt::format("{:.1f} % more steps that count in the same time",
                                   share / (1.01 - share) * 100);
    return finding;
}

Finding find_hang(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr) {
        return unknown({Input::training_log});
    }
    const auto& hang = training->summary.hang;
    if (!hang) {
        return not_found();
    }
    if (!hang->certain()) {
        return unknown({Input::step_clock});
    }
    auto what = fmt::format(
        "No step for {}{} after iteration {}", hang->at_least ? "at least " : "",
        duration_text(static_cast<std::uint64_t>(*hang->silent_s)), hang->last_iteration);
    std::vector<Evidence> evidence = {training->at(hang->last_line)};
    if (hang->after) {
        what += fmt::format("; the last that is told is a {}", name_of(hang->after->kind));
        evidence.push_back(training->at(hang->after->line));
    }
    auto finding = found(Confidence::certain, what + ".", std::move(evidence));
    finding.role = Role::symptom;
    finding.fix = {
        "py-spy dump --pid PID on one rank of each node: which rank stands elsewhere",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 for the next "
        "run, then railhead diagnose on the dumps",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1 (NCCL_ASYNC_ERROR_HANDLING before PyTorch 2.2) "
        "and srun --kill-on-bad-exit=1 --wait=60: where ranks are gone, the job ends"};
    if (hang->after && hang->after->kind == training::EventKind::validation) {
        finding.fix.insert(finding.fix.begin(),
                           "loaders of validation sets with num_workers=0, as BLOOM's run did");
    }
    finding.expected = "the run goes on";
    return finding;
}

constexpr std::string_view of_blow_up[] = {"nan", "loss-spike", "skipped-iterations"};

constexpr Rule rules[] = {
    {"gradient-blow-up", "gradients that grow without end",
     "weights are lost from there on, before the loss shows it", of_blow_up, find_blow_up},
    {"hang",
     "a run that takes no more steps",
     "all its GPUs wait, and cost as if they worked",
     {},
     find_hang},
    {"nan",
     "losses that are no number",
     "weights are lost from the first of them on",
     {},
     find_nan},
    {"loss-spike",
     "a loss that jumps",
     "a run that does not come back has to start before it",
     {},
     find_spike},
    {"skipped-iterations",
     "iterations that are skipped",
     "they take their time and change no weight",
     {},
     find_skipped},
};

}  // namespace

std::span<const Rule> stability_rules() {
    return rules;
}

}  // namespace railhead::diagnose
