// What rules on Slurm's records and logs look things up by.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "diagnose/facts.hpp"

namespace railhead::diagnose {

/// The line that a record is from.
[[nodiscard]] inline Evidence evidence_of(const Origin& from) {
    return {from.file, from.line, {}};
}

/// Records of a whole cluster tell nothing of one job.
[[nodiscard]] inline bool is_of_few(const SlurmRecords& records) {
    constexpr std::size_t most = 8;
    std::set<std::string_view> jobs;
    for (const auto& attempt : records.attempts) {
        const std::string_view id = attempt.id;
        jobs.insert(id.substr(0, id.find_first_of("_+")));
        if (jobs.size() > most) {
            return false;
        }
    }
    return true;
}

/// The first event of one of these kinds in a log of slurmd; null where there is none.
[[nodiscard]] inline const SlurmdEvent* daemon_event(const Facts& facts,
                                                     std::initializer_list<SlurmdEventKind> kinds) {
    for (const auto& log : facts.machine.slurmd_logs) {
        const auto found = std::ranges::find_if(log.events, [&](const SlurmdEvent& event) {
            return std::ranges::find(kinds, event.kind) != kinds.end();
        });
        if (found != log.events.end()) {
            return &*found;
        }
    }
    return nullptr;
}

}  // namespace railhead::diagnose
