// Cases of rules that look at several files, for the tests that count the cases of every rule.
#pragma once

#include <string>
#include <vector>

#include "diagnose/rules.hpp"

namespace railhead::test {

/// Texts of files, what a rule has to answer, and why.
struct RuleCase {
    std::string rule;
    diagnose::Answer expected = diagnose::Answer::unknown;
    std::vector<std::string> texts;
    std::string because;
};

/// Rules on Slurm's records, on placement, on what ranks report.
[[nodiscard]] std::vector<RuleCase> record_rule_cases();

}  // namespace railhead::test
