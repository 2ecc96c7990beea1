#include "diagnose/rules.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace railhead::diagnose {

std::string_view name_of(Answer answer) {
    switch (answer) {
        case Answer::found:
            return "found";
        case Answer::not_found:
            return "not found";
        case Answer::unknown:
            break;
    }
    return "unknown";
}

std::string_view name_of(Confidence confidence) {
    switch (confidence) {
        case Confidence::certain:
            return "certain";
        case Confidence::likely:
            return "likely";
        case Confidence::possible:
            break;
    }
    return "possible";
}

std::string_view name_of(Role role) {
    switch (role) {
        case Role::cause:
            return "cause";
        case Role::symptom:
            return "symptom";
        case Role::advice:
            break;
    }
    return "advice";
}

Finding not_found() {
    Finding finding;
    finding.answer = Answer::not_found;
    return finding;
}

Finding unknown(std::vector<Input> missing) {
    Finding finding;
    finding.answer = Answer::unknown;
    finding.missing = std::move(missing);
    return finding;
}

Finding found(Confidence confidence, std::string what, std::vector<Evidence> evidence) {
    Finding finding;
    finding.answer = Answer::found;
    finding.confidence = confidence;
    finding.what = std::move(what);
    finding.evidence = std::move(evidence);
    return finding;
}

std::string expected_text(const Facts& facts, double step_share) {
    const auto* training = facts.main_training();
    if (training == nullptr || !training->mfu) {
        return fmt::format("steps take {:.1f} % less time", step_share * 100);
    }
    const auto& mfu = *training->mfu;
    const double now = mfu.utilization.mfu * training->speed_now();
    double after = now / (1 - step_share);
    std::string limit;
    const auto* best = mfu.accelerator->highest(mfu.precision);
    // In the run's own count of FLOPs: the published one may be by another.
    const double most =
        best != nullptr ? best->share * mfu.utilization.mfu / training::counted_as(*best, mfu).mfu
                        : 1;
    if (now > most || mfu.judgement.doubt >= training::Doubt::warning) {
        // There is no such run: nothing can be promised of its MFU.
        return fmt::format("steps take {:.1f} % less time", step_share * 100);
    }
    if (best == nullptr && after > most) {
        after = most;
        limit = ", but not above the peak";
    } else if (after > most) {
        after = most;
        limit = ", but not above the best published";
    }
    return fmt::format("MFU {:.1f} %: {:.1f} / (1 - {:.1f} %){}", after * 100, now * 100,
                       step_share * 100, limit);
}

bool is_low_mfu(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training == nullptr || !training->mfu) {
        return false;
    }
    constexpr double low = 0.5;
    const auto* best = training->mfu->accelerator->highest(training->mfu->precision);
    return best != nullptr && training::counted_as(*best, *training->mfu).mfu < low * best->share;
}

Role role_of_setting(const Facts& facts, std::optional<double> step_share) {
    constexpr double dear = 0.10;
    return step_share.value_or(0) >= dear && is_low_mfu(facts) ? Role::cause : Role::advice;
}

Finding found_setting(const Facts& facts, Confidence confidence, std::string what,
                      std::vector<Evidence> evidence, std::optional<double> step_share) {
    auto finding = found(confidence, std::move(what), std::move(evidence));
    if (step_share.value_or(0) > 0) {
        finding.step_share = step_share;
        finding.expected = expected_text(facts, *step_share);
    }
    finding.role = role_of_setting(facts, finding.step_share);
    return finding;
}

std::vector<Rule> all_rules() {
    std::vector<Rule> all;
    for (const auto part :
         {node_rules(), slurm_node_rules(), slurm_rules(), placement_rules(), affinity_rules(),
          failure_rules(), nccl_error_rules(), nccl_network_rules(), nccl_path_rules(),
          bandwidth_rules(), profile_rules(), speed_rules(), layout_rules(), gradient_rules(),
          setting_rules(), stability_rules()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

}  // namespace railhead::diagnose
