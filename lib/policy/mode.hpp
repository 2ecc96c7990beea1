// How far a rule goes with a job.
#pragma once

#include <cstdint>
#include <string_view>

namespace railhead::policy {

/// How far a rule goes.
enum class Mode : std::uint8_t {
    observe,  ///< log what would change
    advise,   ///< also tell the user
    enforce   ///< change the job, and tell the user
};

[[nodiscard]] std::string_view to_string(Mode mode);

}  // namespace railhead::policy
