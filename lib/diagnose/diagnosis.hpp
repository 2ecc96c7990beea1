// From facts to a verdict: every rule's answer, causes before what follows from them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "diagnose/rules.hpp"

namespace railhead::diagnose {

enum class Verdict : std::uint8_t {
    healthy,         ///< rules looked, vital ones among them, and found nothing but advice
    cause_found,     ///< at least one cause
    symptom_only,    ///< what is seen has a cause that is not in the input
    too_little,      ///< no fault is seen, but too little of the run is
    nothing_to_see,  ///< no rule had what it needs
};
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Diagnosis {
    Verdict verdict = Verdict::nothing_to_see;
    /// Of all rules.  Found: causes, dearest first, then symptoms without a cause, then what
    /// follows from others, then advice.  After them what was not found, and what is unknown.
    std::vector<Finding> findings;

    [[nodiscard]] std::vector<const Finding*> with(Answer answer) const;
    /// The inputs that would let unknown rules answer, those first that let most.
    [[nodiscard]] std::vector<Input> wanted() const;
};

/// Whether a log has steps enough to judge its speed: rules on it ask for three timed ones.
[[nodiscard]] bool is_timed(const TrainingFacts& training);

/// Asks each of `rules`, which outlive the diagnosis.  Rules on training logs are asked of each
/// log: one finding has the lines of all.
[[nodiscard]] Diagnosis diagnose(const Facts& facts, std::span<const Rule> rules);

}  // namespace railhead::diagnose
