// What `railhead diagnose --mfu` says: what to look for, in which order, and what it may bring.
#pragma once

#include <string>

#include "diagnose/checklist.hpp"

namespace railhead::report {

/// For people, in 80 columns.
[[nodiscard]] std::string checklist_text(const diagnose::ChecklistQuestion& question,
                                         const diagnose::Checklist& list);

/// For programs: schema railhead.checklist/1.
[[nodiscard]] std::string checklist_json(const diagnose::ChecklistQuestion& question,
                                         const diagnose::Checklist& list);

}  // namespace railhead::report
