// How often nodes fail, as railhead mtbf shows it.
#pragma once

#include <string>

#include "diagnose/failures.hpp"

namespace railhead::report {

[[nodiscard]] std::string mtbf_text(const diagnose::FailureRateAnswer& answer);

/// Schema railhead.mtbf/1.  `sources` has the files that the failures stand in.
[[nodiscard]] std::string mtbf_json(const diagnose::FailureRateAnswer& answer,
                                    const diagnose::Sources& sources);

}  // namespace railhead::report
