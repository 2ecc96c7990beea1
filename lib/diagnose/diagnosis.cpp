#include "diagnose/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

Verdict verdict_of(const std::vector<Finding>& findings) {
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
    if (vital) {
        return Verdict::healthy;
    }
    return is_in(3) || is_in(4) ? Verdict::too_little : Verdict::nothing_to_see;
}

}  // namespace

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
    for (const auto& rule : rules) {
        auto finding = rule.check(facts);
        finding.rule = &rule;
        diagnosis.findings.push_back(std::move(finding));
    }
    link_consequences(diagnosis.findings);
    diagnosis.verdict = verdict_of(diagnosis.findings);
    std::ranges::stable_sort(diagnosis.findings, [](const Finding& a, const Finding& b) {
        const auto key = [](const Finding& one) {
            return std::pair{group_of(one), -one.step_share.value_or(0)};
        };
        return key(a) < key(b);
    });
    return diagnosis;
}

}  // namespace railhead::diagnose
