#include "diagnose/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "diagnose/network_costs.hpp"

namespace railhead::diagnose {

namespace {

/// Marks what follows from other findings.  Advice explains nothing: it is no fault.
void link_consequences(std::vector<Finding>& findings) {
    for (const auto& cause : findings) {
        if (cause.answer != Answer::found || cause.role == Role::advice) {
            continue;
        }
        for (auto& other : findings) {
            const bool explained = other.answer == Answer::found && other.consequence_of.empty() &&
                                   std::ranges::find(cause.rule->explains, other.rule->id) !=
                                       cause.rule->explains.end();
            if (explained && cause.consequence_of != other.rule->id) {
                other.consequence_of = cause.rule->id;
            }
        }
    }
}

/// The place of a finding in the list.
int group_of(const Finding& finding) {
    if (finding.answer != Answer::found) {
        return finding.answer == Answer::not_found ? 4 : 5;
    }
    if (finding.role == Role::advice) {
        return 3;
    }
    if (!finding.consequence_of.empty()) {
        return 2;
    }
    return finding.role == Role::cause ? 0 : 1;
}

/// Whether `rule` looks at a training log alone: it is asked of each of them.
bool is_of_training(const Rule& rule) {
    return std::ranges::any_of(
        std::array{speed_rules(), layout_rules(), gradient_rules(), setting_rules(),
                   stability_rules()},
        [&](auto part) { return std::ranges::find(part, rule.id, &Rule::id) != part.end(); });
}

/// Facts of each training log but the main one, as if there were no other.
std::vector<Facts> other_logs(const Facts& facts) {
    std::vector<Facts> others;
    const auto* main = facts.main_training();
    for (const auto& training : facts.training) {
        if (&training != main) {
            auto& other = others.emplace_back();
            other.sources = facts.sources;
            other.hardware = facts.hardware;
            other.training.push_back(training);
        }
    }
    return others;
}

/// One answer out of two about two logs: the worse finding, which names the lines of both; a log
/// of which a rule does not know leaves it unknown.
Finding merge(Finding one, Finding other) {
    const auto weight = [](const Finding& finding) {
        return std::tuple{finding.answer == Answer::found     ? 0
                          : finding.answer == Answer::unknown ? 1
                                                              : 2,
                          finding.role, -finding.step_share.value_or(0)};
    };
    if (weight(other) < weight(one)) {
        std::swap(one, other);
    }
    if (other.answer == Answer::found) {
        if (!other.evidence.empty() && other.evidence.front().text.empty()) {
            other.evidence.front().text = std::move(other.what);
        }
        one.evidence.insert(one.evidence.end(), other.evidence.begin(), other.evidence.end());
    }
    return one;
}

/// Each training log has timed steps to look at, or is the only one.
bool all_logs_are_timed(const Facts& facts) {
    return facts.training.size() < 2 || std::ranges::all_of(facts.training, is_timed);
}

Verdict verdict_of(const std::vector<Finding>& findings, bool is_all_seen) {
    const auto is_in = [&](int group) {
        return std::ranges::any_of(findings,
                                   [&](const Finding& one) { return group_of(one) == group; });
    };
    if (is_in(0)) {
        return Verdict::cause_found;
    }
    if (is_in(1)) {
        return Verdict::symptom_only;
    }
    const bool vital = std::ranges::any_of(findings, [](const Finding& one) {
        return one.answer == Answer::not_found && one.rule->is_vital;
    });
    if (vital && is_all_seen) {
        return Verdict::healthy;
    }
    return vital || is_in(3) || is_in(4) ? Verdict::too_little : Verdict::nothing_to_see;
}

}  // namespace

bool is_timed(const TrainingFacts& training) {
    constexpr std::uint64_t least = 3;
    return training.summary.timed >= least;
}

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::healthy:
            return "healthy";
        case Verdict::cause_found:
            return "cause found";
        case Verdict::symptom_only:
            return "cause not determined";
        case Verdict::too_little:
            return "too little to tell";
        case Verdict::nothing_to_see:
            break;
    }
    return "nothing to go by";
}

std::vector<const Finding*> Diagnosis::with(Answer answer) const {
    std::vector<const Finding*> some;
    for (const auto& finding : findings) {
        if (finding.answer == answer) {
            some.push_back(&finding);
        }
    }
    return some;
}

std::vector<Input> Diagnosis::wanted() const {
    std::array<std::pair<int, Input>, static_cast<std::size_t>(Input::count_)> counts{};
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i].second = static_cast<Input>(i);
    }
    for (const auto* finding : with(Answer::unknown)) {
        for (const auto input : finding->missing) {
            ++counts[static_cast<std::size_t>(input)].first;
        }
    }
    std::ranges::stable_sort(counts, std::greater{}, &std::pair<int, Input>::first);
    std::vector<Input> inputs;
    for (const auto& [count, input] : counts) {
        if (count > 0) {
            inputs.push_back(input);
        }
    }
    return inputs;
}

Diagnosis diagnose(const Facts& facts, std::span<const Rule> rules) {
    Diagnosis diagnosis;
    const auto others = other_logs(facts);
    for (const auto& rule : rules) {
        auto finding = rule.check(facts);
        if (!others.empty() && is_of_training(rule)) {
            for (const auto& other : others) {
                finding = merge(std::move(finding), rule.check(other));
            }
        }
        finding.rule = &rule;
        diagnosis.findings.push_back(std::move(finding));
    }
    link_consequences(diagnosis.findings);
    price_network(facts, diagnosis.findings);
    diagnosis.verdict = verdict_of(diagnosis.findings, all_logs_are_timed(facts));
    std::ranges::stable_sort(diagnosis.findings, [](const Finding& a, const Finding& b) {
        const auto key = [](const Finding& one) {
            return std::pair{group_of(one), -one.step_share.value_or(0)};
        };
        return key(a) < key(b);
    });
    return diagnosis;
}

}  // namespace railhead::diagnose
