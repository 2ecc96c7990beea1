// How often do nodes fail?  Failures counted in Slurm's records, each blamed on one node, and the
// time in which they could have happened.
//
// A gang that dies of one node runs on hundreds.  A failure is therefore blamed on the node that
// slurmctld named, or on the one that went out of service at that moment, and on no other; where
// neither is known it counts for the fleet alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/mtbf.hpp"
#include "diagnose/slurm_records.hpp"

namespace railhead::diagnose {

enum class Definition : std::uint8_t { node_fail, rsc, node_down };

struct DefinitionText {
    Definition definition;
    std::string_view name;      ///< as people type it
    std::string_view counted;   ///< what counts as a failure
    std::string_view exposure;  ///< which time counts
};
[[nodiscard]] std::span<const DefinitionText> definitions();
[[nodiscard]] const DefinitionText& text_of(Definition definition);

/// An event belongs to a job's end when it begins from so long before to so long after it: RSC's
/// window for critical health checks (arXiv:2410.21680, section on attribution).
constexpr std::int64_t before_end_s = 600;
constexpr std::int64_t after_end_s = 300;

/// Whether a node was taken out of service on purpose: by its state (MAINT, PLANNED, REBOOT,
/// POWER...) or a word of its reason ("maintenance", "upgrade", ...).
[[nodiscard]] bool is_planned(const NodeEvent& event);
/// The words of a reason that mean that.
[[nodiscard]] std::span<const std::string_view> planned_words();

struct CountQuestion {
    Definition definition = Definition::rsc;
    std::uint64_t min_gpus = 0;  ///< smaller jobs count neither way
    std::optional<std::int64_t> since_s, until_s;
    std::vector<std::string> nodes;  ///< only these; none: every one in the records
};

struct Failure {
    std::string node;  ///< empty: not known
    std::int64_t at_s = 0;
    std::string job;                      ///< empty: an idle node
    std::string_view how;                 ///< why this node: "FailedNode", "its event"
    std::string reason;                   ///< of the node's event; empty: there is none
    std::optional<std::int64_t> event_s;  ///< when that began
    Origin from;
};

struct NodeCount {
    std::string node;
    std::uint64_t failures = 0;
    double exposure_s = 0;
};

struct FailureCount {
    CountQuestion question;
    std::vector<Failure> failures;         ///< oldest first
    std::vector<NodeCount> nodes;          ///< by name; only those with exposure or a failure
    double exposure_s = 0;                 ///< of all nodes together
    std::uint64_t unattributed = 0;        ///< failures of no known node
    std::uint64_t repeated = 0;            ///< more jobs that one failure ended
    std::uint64_t attempts = 0;            ///< that were counted
    std::uint64_t left_out = 0;            ///< attempts without a start or nodes, or too small
    std::uint64_t planned = 0;             ///< events on purpose, of these nodes and this time
    std::uint64_t reversed = 0;            ///< attempts and events that end before they begin
    std::int64_t first_s = 0, last_s = 0;  ///< of the time that counts
};

/// Fails with `bad_input` where there is no exposure: no job ran, or for node-down no time is seen.
[[nodiscard]] Result<FailureCount> count_failures(const SlurmRecords& records,
                                                  CountQuestion question);

/// The rate with its exact Poisson interval, and the MTBF of a gang.
struct FailureRateAnswer {
    FailureCount count;
    double confidence = 0.95;
    double node_days = 0;
    double per_1000_node_days = 0;  ///< of half a failure where none was seen (Jeffreys' prior)
    double low = 0, high = 0;       ///< of the interval; low is 0 where none was seen
    std::uint64_t gang_nodes = 0;   ///< 0: not asked
    checkpoint::MtbfEstimate gang;
};
/// Fails as estimate_mtbf() does.
[[nodiscard]] Result<FailureRateAnswer> failure_rate(FailureCount count, std::uint64_t gang_nodes);

}  // namespace railhead::diagnose
