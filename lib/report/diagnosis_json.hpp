// The document of `railhead diagnose --json`, for files that put it into another.
#pragma once

#include <nlohmann/json.hpp>

#include "report/diagnosis.hpp"

namespace railhead::report {

/// Schema railhead.diagnose/1.
[[nodiscard]] nlohmann::ordered_json diagnosis_document(const DiagnosisReport& report);

}  // namespace railhead::report
