// Of the gate: is the MFU what this accelerator is known to reach?
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnose/gate_checks.hpp"

namespace railhead::diagnose {

namespace {

using training::Accelerator;
using training::Precision;

/// Published runs of 8 to 16,384 H100 reach 41 to 62 %: NVIDIA/dgxc-benchmarking; Llama 3,
/// arXiv:2407.21783, table 4.
constexpr std::string_view reference = "h100-sxm";
constexpr double reference_mfu = 0.45;

/// What of the best that was published is wanted: on H100 45 % of 62.5 %.
std::optional<double> wanted_share(const training::Catalogue& catalogue) {
    const auto found = training::find_accelerator(catalogue, reference);
    const auto* record = found ? (*found)->highest(Precision::bf16) : nullptr;
    return record != nullptr && record->share > 0 ? std::optional{reference_mfu / record->share}
                                                  : std::nullopt;
}

const policy::GateTarget* site_target(const GateQuestion& question, const Accelerator& about) {
    for (const auto& one : question.targets.mfu_of) {
        const auto found = training::find_accelerator(*question.catalogue, one.accelerator);
        if (found && (*found)->name == about.name) {
            return &one.target;
        }
    }
    return question.targets.mfu ? &*question.targets.mfu : nullptr;
}

GateAim aim_of(const GateQuestion& question, const Accelerator& accelerator, Precision precision) {
    if (const auto* site = site_target(question, accelerator)) {
        return make_aim(*site, {}, true, AimText::share);
    }
    if (accelerator.name == reference && precision == Precision::bf16) {
        return make_aim({},
                        {reference_mfu,
                         "H100 in bf16: published runs on 8 to 16,384 of them reach 41 to 62 % "
                         "(NVIDIA/dgxc-benchmarking; Llama 3, arXiv:2407.21783, table 4)"},
                        true, AimText::share);
    }
    const auto* record = accelerator.highest(precision);
    const auto share = wanted_share(*question.catalogue);
    if (record == nullptr || !share) {
        GateAim none;
        none.is_least = true;
        none.from = fmt::format("no run on {} in {} was published: [gate] mfu sets a target",
                                accelerator.name, to_string(precision));
        return none;
    }
    auto aim = make_aim({}, {*share * record->share, {}}, true, AimText::share);
    aim.from = fmt::format(
        "{} of the best that was published of {} in {}, {} ({}), as the 45 % are on H100",
        percent_text(*share), accelerator.name, to_string(precision), percent_text(record->share),
        record->source);
    return aim;
}

GateCheck without_log() {
    GateCheck check;
    check.missing = {"the log of a training run"};
    check.run = {"railhead gate TRAINING.log --accelerator NAME --model NAME"};
    return check;
}

/// By the same count of FLOPs as the record's, where the run can be counted so.
void add_record(GateCheck& check, const training::MfuAnswer& mfu) {
    const auto* record = mfu.accelerator->highest(mfu.precision);
    if (record == nullptr || record->convention.empty()) {
        return;
    }
    for (const auto& other : mfu.others) {
        if (other.convention->name == record->convention) {
            check.details.push_back(fmt::format("By the record's convention ({}) it is {}.",
                                                record->convention, percent_text(other.mfu)));
        }
    }
}

GateCheck from_answer(const GateQuestion& question, const TrainingFacts& training) {
    const auto& mfu = *training.mfu;
    GateCheck check;
    check.aim = aim_of(question, *mfu.accelerator, mfu.precision);
    judge(check, mfu.utilization.mfu,
          fmt::format("{} of {:g} TFLOP/s {}", percent_text(mfu.utilization.mfu),
                      mfu.utilization.peak_tflops, to_string(mfu.precision)),
          place_of(question.facts->sources, training.at(training.run().first_line)));
    check.details.push_back(
        fmt::format("Of the usual step: the median of {} timed lines; FLOPs counted as {}.",
                    training.summary.timed, mfu.utilization.convention->name));
    add_record(check, mfu);
    check.details.insert(check.details.end(), mfu.assumptions.begin(), mfu.assumptions.end());
    if (!mfu.judgement.reason.empty()) {
        check.details.push_back(mfu.judgement.reason);
    }
    if (!check.aim.value) {
        check.missing = {check.aim.from};
        check.run = {"[gate] mfu = 0.40 in railhead.toml"};
    }
    return check;
}

/// The log prints an MFU, by its own count, and no better one is known.
GateCheck from_printed(const GateQuestion& question, const TrainingFacts& training,
                       const Accelerator& accelerator) {
    GateCheck check;
    check.aim =
        aim_of(question, accelerator, question.facts->hardware.precision.value_or(Precision::bf16));
    judge(check, *training.summary.mfu_printed,
          percent_text(*training.summary.mfu_printed) + " as the log prints it",
          place_of(question.facts->sources, training.at(training.run().first_line)));
    check.details.push_back(
        fmt::format("The log's own count of FLOPs and of the peak. For ours: {}.",
                    fmt::join(training.mfu_needs, "; ")));
    return check;
}

}  // namespace

GateCheck check_mfu(const GateQuestion& question) {
    const auto* training = question.facts != nullptr ? question.facts->main_training() : nullptr;
    GateCheck check;
    if (training == nullptr) {
        check = without_log();
    } else if (training->mfu) {
        check = from_answer(question, *training);
    } else if (const auto* accelerator = question.facts->hardware.accelerator;
               training->summary.mfu_printed && accelerator != nullptr) {
        check = from_printed(question, *training, *accelerator);
    } else {
        check.missing = training->mfu_needs;
        check.run = {"railhead gate TRAINING.log --accelerator NAME --model NAME --gpus N"};
    }
    check.id = "mfu";
    check.what = "model FLOPs utilization";
    check.group = GateGroup::mfu;
    check.unit = GateUnit::share;
    if (check.verdict == GateVerdict::fail) {
        check.advice = {"railhead diagnose LOG... ranks what keeps it low, with what each costs"};
    }
    return check;
}

}  // namespace railhead::diagnose
