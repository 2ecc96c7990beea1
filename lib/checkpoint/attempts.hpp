// How the attempts of a job ended, and whether its next requeue is to wait for a person.
//
// A job that fails again and again before it has written a checkpoint would be requeued for ever,
// and gets nowhere.  A dead node's batch step can do nothing behind its death, so it is held
// before: at the start of the n-th such attempt.  A running job that is held runs on, and stays
// pending once it is requeued (22.05 to 26.05).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace railhead::checkpoint {

/// Why an attempt ended.
enum class Cause : std::uint8_t {
    unknown,    ///< it runs, or nobody saw its end: its node died with the watcher
    exited,     ///< its tasks ended by themselves
    failed,     ///< Slurm calls the job failed, requeued it for its exit status, or the job
                ///< requeued itself behind a step that failed
    node,       ///< a node of it failed
    preempted,  ///< requeued for another job
    requeued,   ///< requeued by a person, or preempted: Slurm does not tell them apart then
    time_limit,
    cancelled,
    completed
};
[[nodiscard]] std::string_view to_string(Cause cause);
[[nodiscard]] Cause parse_cause(std::string_view text);  ///< unknown for any other text

struct Attempt {
    std::uint32_t restarts = 0;  ///< SLURM_RESTART_COUNT: 0 for the first
    double started_s = 0;
    std::optional<double> ended_s;
    Cause cause = Cause::unknown;
    std::uint64_t checkpoints = 0;  ///< good ones
    std::optional<double> last_s;   ///< the newest of them
    bool has_failed_step = false;   ///< before it was requeued
};

/// How many of the last attempts failed in a row without a good checkpoint; `before` are those that
/// ended.  Preemptions and requeues by hand count neither way; an attempt that nobody saw the end
/// of failed.
[[nodiscard]] std::uint32_t failures_in_a_row(std::span<const Attempt> before);

/// Whether the attempt that begins is the `limit`-th, so that its requeue is to wait.  0: never.
[[nodiscard]] bool is_to_be_held(std::uint32_t failures, std::uint32_t limit);

/// The reason, for Comment and stderr: "railhead: 2 attempts failed before a checkpoint, ...".
[[nodiscard]] std::string hold_reason(std::uint32_t failures, std::uint32_t job);

/// The work that was lost when an attempt ended: since its last checkpoint, or its start.  Nothing
/// where it runs or may have ended well.
[[nodiscard]] std::optional<double> lost_s(const Attempt& attempt);

/// What Slurm says of a job while its tasks end: fields of "scontrol show job".
struct JobEnd {
    std::string state;           ///< "COMPLETING"
    std::string exit_code;       ///< "0:0"
    std::uint32_t restarts = 0;  ///< counted up when it is requeued, before the tasks are killed
    bool has_dead_node = false;
    std::string worst_step;  ///< "1:0", of the steps that ended; empty where it is not told
};

/// Whether a step ended with an exit status other than 0, and not by a signal.  A job that is
/// requeued behind that may have requeued itself; so may a preempted one look whose trainer ends
/// with a status.
[[nodiscard]] bool has_failed_step(const JobEnd& end);

/// The cause by that, for the attempt `restarts`.
[[nodiscard]] Cause cause_of_end(const JobEnd& end, std::uint32_t restarts);

/// The cause by a state of sacct: "NODE_FAIL", "PREEMPTED", "CANCELLED by 1000".
[[nodiscard]] Cause cause_of_state(std::string_view state);

/// The record's text of the last attempt that sacct tells of, given what
/// "sacct -D -X -n -P -o State" prints, oldest first: the state of the attempt `restarts`.
[[nodiscard]] std::optional<std::string> sacct_state(std::string_view text, std::uint32_t restarts);

}  // namespace railhead::checkpoint
