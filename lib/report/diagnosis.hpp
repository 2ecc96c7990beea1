// What `railhead diagnose FILE...` says: the verdict, what was found with its evidence, where the
// time goes, what was looked for in vain, and what is unknown for want of which input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/baseline.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/waterfall.hpp"

namespace railhead::report {

/// A file of which only a part could be read.
struct CutFile {
    std::string name;  ///< as in the sources of the facts
    std::string why;
};

struct DiagnosisReport {
    const diagnose::Facts* facts = nullptr;
    diagnose::Diagnosis diagnosis;
    std::optional<diagnose::Waterfall> waterfall;
    std::optional<diagnose::Comparison> comparison;
    std::vector<CutFile> cut;
    std::string baseline;  ///< the file that the comparison is with
};

/// What else is to be said of a file: that it is cut, or has too few steps to judge its speed;
/// empty: nothing.
[[nodiscard]] std::string trouble_of(const DiagnosisReport& report,
                                     const diagnose::FileFacts& file);

/// For people, in 80 columns.
[[nodiscard]] std::string diagnosis_text(const DiagnosisReport& report);

/// For programs: schema railhead.diagnose/1.
[[nodiscard]] std::string diagnosis_json(const DiagnosisReport& report);

}  // namespace railhead::report
