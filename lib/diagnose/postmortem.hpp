// Why did these jobs end, what did it cost, and what keeps it from happening again?
//
// Every statement has its source.  What the records do not tell is "not determined", with what to
// collect for it: a node that fell silent says nothing of why.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/record.hpp"
#include "diagnose/slurm_records.hpp"

namespace railhead::diagnose {

/// What other evidence than Slurm's records says: the place to add findings of a diagnosis.  One
/// that belongs to an end, by its job or node and its time, is its root cause.
struct Clue {
    std::optional<std::int64_t> at_s;  ///< nothing: of the job as a whole
    std::string job, node;             ///< empty: not known
    std::string what;                  ///< "Xid 79: the GPU has fallen off the bus"
    std::vector<std::string> fix, prevention;
    std::string source;    ///< "dmesg.txt:812"
    bool is_cause = true;  ///< else it is what was seen first, and why is not told
};

struct PostmortemQuestion {
    std::vector<std::string> jobs;  ///< "12" is also each task "12_3" and component "12+1"
    std::vector<checkpoint::Record> checkpoints;  ///< of some of them
    std::vector<Clue> clues;
    std::optional<double>
        restart_s;  ///< from a start to the first new step; nothing: usual_restart_s
};
/// Of RSC's jobs (arXiv:2410.21680): initialization and restart.
constexpr double usual_restart_s = 300;

/// An attempt that did not complete.
struct Ending {
    const JobAttempt* attempt = nullptr;
    const JobAttempt* next = nullptr;  ///< the job's next attempt
    const NodeEvent* event = nullptr;  ///< of one of its nodes, about its end
    const LogLine* line = nullptr;     ///< of the job's end
    const Clue* clue = nullptr;
    std::string node;  ///< whose failure it was; empty: none, or not known
};

struct RootCause {
    std::string_view id;  ///< "node-silent": a row of the table of causes
    bool is_determined = false;
    std::string what;  ///< one sentence, without a full stop
    std::vector<std::string> collect, fix, prevention;
};
/// By the table of causes.
[[nodiscard]] RootCause cause_of(const Ending& ending);

struct Moment {
    std::int64_t at_s = 0;
    std::string what, source;
};

/// Hours of GPUs.
struct Impact {
    double idle = 0;        ///< held by a job that stood still, or in a node out of service
    double recomputed = 0;  ///< work since the last checkpoint
    double restart = 0;
    double queue = 0;               ///< of the job's GPUs, while it waited to start again
    bool has_upper_bounds = false;  ///< no checkpoint is known of a job: all of its work is counted
    std::size_t with_gpus = 0, without_gpus = 0;  ///< attempts whose GPUs are known, and are not
    std::vector<std::string> notes;               ///< assumptions, and what is not known
    [[nodiscard]] double lost() const { return idle + recomputed + restart + queue; }
};

struct Incident {
    std::vector<Ending> endings;  ///< oldest first
    RootCause cause;
    std::vector<Moment> timeline;
    Impact impact;
};

struct Postmortem {
    std::vector<Incident> incidents;      ///< oldest first
    std::vector<const JobAttempt*> well;  ///< attempts that completed, run, or wait
};

/// `records` and `question` have to outlive the answer.  Fails with `not_found` where a job is not
/// in the records.
[[nodiscard]] Result<Postmortem> make_postmortem(const SlurmRecords& records,
                                                 const PostmortemQuestion& question);

/// The GPU hours of one incident, and where they come from.
[[nodiscard]] Impact impact_of(std::span<const Ending> endings, const SlurmRecords& records,
                               const PostmortemQuestion& question);

/// The checkpoint record's attempt that is this one, by its start; null where there is none.
[[nodiscard]] const checkpoint::Attempt* recorded(const JobAttempt& attempt,
                                                  const PostmortemQuestion& question);

}  // namespace railhead::diagnose
