// What `railhead gate` says: each check with its figure, its target, and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/gate.hpp"

namespace railhead::report {

/// What the gate is passed by.
struct GateSubject {
    std::vector<std::string> jobs;                 ///< none: the cluster
    std::optional<std::int64_t> since_s, until_s;  ///< of its records, where there are any
};

/// For people, in 80 columns.
[[nodiscard]] std::string gate_text(const GateSubject& subject, const diagnose::Gate& gate);

/// For programs: schema railhead.gate/1.
[[nodiscard]] std::string gate_json(const GateSubject& subject, const diagnose::Gate& gate);

}  // namespace railhead::report
