#include "diagnose/clues.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "diagnose/failures.hpp"
#include "diagnose/when.hpp"

namespace railhead::diagnose {

namespace {

/// By their ids.  What Slurm's records tell a post-mortem sees itself.
constexpr std::array<std::string_view, 35> ending_rules{
    "xid",           "nvswitch-error",   "pcie-error",        "machine-check",
    "host-memory",   "link-flap",        "storage-gone",      "gpu-memory-error",
    "job-memory",    "node-setup",       "gpu-out-of-memory", "rank-failed",
    "rank-diverges", "absent-rank",      "nccl-ras",          "nic-not-opened",
    "no-provider",   "no-network",       "no-libibverbs",     "no-interface",
    "nan",           "unconnected-nics", "memory-protection", "port-event",
    "shared-memory", "retry-exceeded",   "duplicate-gpu",     "ranks-differ",
    "cuda-failure",  "nccl-verbs",       "nccl-connect",      "wrong-interface",
    "hang",          "nccl-warning",     "collective-timeout"};

constexpr double seconds_of_zones = 15 * 3600.0;  // UTC+14, and the slack of clocks

/// The time of a line, as far as it helps: nothing where it has none, or one of another zone.
struct At {
    std::optional<std::int64_t> at_s;
    bool is_elsewhere = false;
};

At time_of(const Finding& finding, std::span<const std::int64_t> ends) {
    if (finding.evidence.empty()) {
        return {};
    }
    std::string_view line = finding.evidence.front().text;
    const auto when = take_when(line);
    if (!when.at_s || ends.empty()) {
        return {};
    }
    const auto at_s = static_cast<std::int64_t>(*when.at_s);
    double nearest = seconds_of_zones + 1;
    for (const auto end_s : ends) {
        if (at_s >= end_s - before_end_s && at_s <= end_s + after_end_s) {
            return {at_s, false};
        }
        nearest = std::min(nearest, std::abs(static_cast<double>(end_s - at_s)));
    }
    return {std::nullopt, nearest > seconds_of_zones};
}

}  // namespace

std::span<const std::string_view> rules_of_ends() {
    return ending_rules;
}

std::vector<Clue> clues_of(const Diagnosis& diagnosis, const Facts& facts, const std::string& job,
                           std::span<const std::int64_t> ends) {
    std::vector<Clue> clues;
    for (const auto* finding : diagnosis.with(Answer::found)) {
        const auto at = time_of(*finding, ends);
        if (finding->role == Role::advice || !finding->consequence_of.empty() || at.is_elsewhere ||
            std::ranges::find(ending_rules, finding->rule->id) == ending_rules.end()) {
            continue;
        }
        Clue clue;
        clue.at_s = at.at_s;
        clue.job = job;
        clue.what = finding->what;
        if (clue.what.ends_with('.')) {
            clue.what.pop_back();
        }
        clue.fix = finding->fix;
        clue.is_cause = finding->role == Role::cause;
        clue.source = finding->evidence.empty()
                          ? std::string{finding->rule->id}
                          : place_of(facts.sources, finding->evidence.front());
        clues.push_back(std::move(clue));
    }
    return clues;
}

}  // namespace railhead::diagnose
