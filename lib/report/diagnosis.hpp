// What `railhead diagnose FILE...` says: the verdict, what was found with its evidence, where the
// time goes, what was looked for in vain, and what is unknown for want of which input.
#pragma once

#include <optional>
#include <string>

#include "diagnose/baseline.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/waterfall.hpp"

namespace railhead::report {

struct DiagnosisReport {
    const diagnose::Facts* facts = nullptr;
    diagnose::Diagnosis diagnosis;
    std::optional<diagnose::Waterfall> waterfall;
    std::optional<diagnose::Comparison> comparison;
    std::string baseline;  ///< the file that the comparison is with
};

/// For people, in 80 columns.
[[nodiscard]] std::string diagnosis_text(const DiagnosisReport& report);

/// For programs: schema railhead.diagnose/1.
[[nodiscard]] std::string diagnosis_json(const DiagnosisReport& report);

}  // namespace railhead::report
