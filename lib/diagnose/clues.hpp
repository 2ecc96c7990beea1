// What a diagnosis of a job's files says of why it ended: clues for a post-mortem.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/postmortem.hpp"

namespace railhead::diagnose {

/// Rules whose findings end a job: a slow network does not.
[[nodiscard]] std::span<const std::string_view> rules_of_ends();

/// The findings that may have ended `job`, causes first.  What follows from another one and advice
/// are none.  The time is that of the line, where it has one; one that is further from all `ends`
/// (seconds since 1970) than clocks of two zones can be apart is another one's, and left out.
[[nodiscard]] std::vector<Clue> clues_of(const Diagnosis& diagnosis, const Facts& facts,
                                         const std::string& job,
                                         std::span<const std::int64_t> ends);

}  // namespace railhead::diagnose
