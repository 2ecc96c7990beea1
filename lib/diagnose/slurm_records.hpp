// What Slurm's own records say of jobs and nodes: attempts of jobs, events of nodes, and lines of
// slurmctld's log.
//
// Times are seconds since 1970.  Slurm prints most of them in the zone of the machine that printed
// them, without naming it: such a time is taken as it stands, as if it were UTC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"

namespace railhead::diagnose {

/// Where a record stands: millions are kept, so that it is no Evidence.
struct Origin {
    std::uint32_t file = 0;  ///< its number in Sources
    std::uint64_t line = 0;  ///< 1-based
};

/// One start of a job, from its submission or requeue to its end.
struct JobAttempt {
    std::string id;            ///< as users name it: "12", "12_3", "12+1"
    std::uint32_t number = 0;  ///< Slurm's own number of it; 0: not told
    std::string name, user;
    std::string state;      ///< "NODE_FAIL", "CANCELLED by 1000"
    std::string exit_code;  ///< "0:9": exit status, signal
    std::string reason;     ///< why it waited, or ended; empty: not told
    std::string node_list;  ///< a host list; empty: it never had nodes
    std::uint64_t nodes = 0, gpus = 0;
    std::optional<std::int64_t> submit_s, start_s, end_s;
    std::string failed_node;  ///< whose failure ended it; empty: not told
    std::optional<std::uint32_t> restarts;
    Origin from;
};

/// Whether it is one of a job, as users name it: a job has the tasks of its array, "12" "12_3", and
/// its parts, "12+1".
[[nodiscard]] bool is_of_job(const JobAttempt& attempt, std::string_view job);

/// A time in which a node was not in service.
struct NodeEvent {
    std::string node;
    std::int64_t begin_s = 0;
    std::optional<std::int64_t> end_s;  ///< nothing: it goes on
    std::string state;                  ///< "DOWN*", "DRAIN"
    std::string reason;
    Origin from;
};

/// A node as slurmctld knows it: scontrol show node.
struct NodeRecord {
    std::string node;
    std::string state;       ///< "IDLE+DRAIN"
    std::uint64_t gpus = 0;  ///< of Gres
    Origin from;
};

enum class LineKind : std::uint8_t {
    silent,       ///< nodes do not respond
    down,         ///< nodes were set DOWN for it
    back,         ///< a node responds again, or is in service again
    set_state,    ///< a state that a person or a program gave to a node
    set_reason,   ///< and why
    node_failed,  ///< a job ended for the failure of a node
    requeued,
    preempted,
    time_limit
};

/// A line of slurmctld's log.
struct LogLine {
    LineKind kind = LineKind::silent;
    std::int64_t at_s = 0;
    std::string nodes;  ///< a host list; empty: of a job alone
    std::string job;    ///< empty: of nodes alone
    std::string what;   ///< the state or the reason that was set
    Origin from;
};

struct SlurmRecords {
    Sources sources;
    std::vector<JobAttempt> attempts;
    std::vector<NodeEvent> events;
    std::vector<NodeRecord> nodes;
    std::vector<LogLine> lines;
    std::int64_t latest_s = 0;     ///< the latest time that any of them has
    bool has_local_times = false;  ///< times without a zone
    bool has_utc_times = false;    ///< seconds since 1970, or times with a zone
    std::uint64_t unread = 0;      ///< rows that are not as their heading says
    std::optional<Origin> first_unread;
    std::uint64_t repeated = 0;  ///< that another one tells too: see merge_repeated()
};

/// A time as Slurm prints it: "2026-12-01T12:00:30", with fractions and a zone or without, or
/// seconds since 1970.  Nothing for "Unknown", "None" and anything else.
struct SlurmTime {
    std::int64_t at_s = 0;
    bool has_zone = false;
};
[[nodiscard]] std::optional<SlurmTime> parse_slurm_time(std::string_view text);

/// The GPUs of a TRES string such as AllocTRES: "cpu=64,gres/gpu=16,gres/gpu:h100=16".
[[nodiscard]] std::uint64_t gpus_of_tres(std::string_view tres);

/// The first word of a state: "CANCELLED" of "CANCELLED by 1000".
[[nodiscard]] std::string_view short_state(std::string_view state);

/// Keeps one of the records that tell the same: of files that overlap, or were given twice.
///
/// Attempts are one that have their id, submission and start in common: what one of them does not
/// know, such as the end, is taken from the others.  Of those without a start, and of lines of the
/// log, only what is equal in all counts.  Events are one by node, begin and reason.
void merge_repeated(SlurmRecords& records);

/// Tells attempts the node whose failure ended them, where slurmctld's log does and they do not.
/// sacct has no such field before 24.11, or near it.
void add_failed_nodes(SlurmRecords& records);

/// Adds an event for each time that slurmctld's log takes a node out of service, unless there is
/// one already that begins within a minute of it.
void add_logged_events(SlurmRecords& records);

}  // namespace railhead::diagnose
