// What becomes of a job at submission.
//
// The heart of the first journey: a request, the site's compiled policy, and out come changes,
// notes for the user, or a refusal.  Pure: no I/O, no lock, no clock; it allocates only for what
// it changes or says.  slurmctld runs it under its locks, `railhead explain` on a login node.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/schedule.hpp"
#include "job/request.hpp"
#include "policy/changes.hpp"
#include "policy/policy.hpp"
#include "policy/price.hpp"
#include "policy/site.hpp"

namespace railhead::policy {

enum class NoteKind : std::uint8_t {
    change,  ///< a value was changed, or would be
    quiet,   ///< likewise, but nothing that the job could lose by: told where all is told
    advice,  ///< something that costs the job speed, and what to do
    info     ///< why the job was left as it is
};

struct Note {
    std::string_view rule;   ///< "gang", "lemons", "placement", "steering", "isolation", "sockets",
                             ///< "checkpoint", "site"
    NoteKind kind = NoteKind::info;
    Mode mode = Mode::enforce;  ///< of the rule: a change was made (enforce) or only would be; what
                                ///< a rule that observes has to say reaches the log alone
    std::string text;
    bool repeated = false;      ///< the job's first component has told it
};

struct Refusal {
    std::string_view rule;
    std::string text;
};

/// The minimal span of a job at one level of its fabric.
struct SeenLevel {
    unsigned level = 0;        ///< Slurm's: 1 is right above the leaves
    std::uint32_t least = 0;   ///< 0: there is no such level
    std::uint32_t usable = 0;  ///< switches of the level that have usable nodes
};

/// How often the job is to write a checkpoint, and of what that was made.
struct SeenCheckpoint {
    checkpoint::Schedule schedule;
    std::uint32_t nodes = 0;  ///< 1 at least: those it asks for, or that its GPUs need
    double cost_s = 0;
    std::string_view from;    ///< whose interval: "user", "history", "policy", "default"
    std::string declared;     ///< by what: "--ckpt-signal"; empty: it does not
    bool clock = false;       ///< the nodes' clock signals it, not Slurm
};

/// The job as the rules saw it; for `explain` and for the log.
struct Seen {
    std::string partition;               ///< the first one named
    std::uint64_t gpus = 0;              ///< all of the job; 0 for a CPU job
    std::uint32_t nodes = 0;             ///< after the gang rule; 0 while open
    std::uint32_t gpus_per_node = 0;
    std::uint32_t least_leaves = 0;      ///< minimal span of `nodes`; 0 when not planned
    std::uint32_t leaves = 0;            ///< leaves (blocks) that have usable nodes
    fabric::Kind fabric = fabric::Kind::none;  ///< what the job is placed on; none: not planned
    std::array<SeenLevel, 3> above;      ///< the levels between the leaves and the top, lowest first
    std::optional<Wait> wait;            ///< what waiting for the least leaves is worth; trees only
    std::optional<SeenCheckpoint> checkpoint;
};

struct Review {
    Changes changes;                     ///< to be written to the job
    std::vector<Note> notes;
    std::optional<Refusal> refusal;
    Seen seen;
    bool off = false;                    ///< nothing was looked at: the user or the site said so
};

/// Reviews one job, or one component of a heterogeneous job.
[[nodiscard]] Review review(const job::JobRequest& request, const Site& site);

/// Reviews a change of a waiting job (`scontrol update`), of which only `request`'s set fields are
/// known: what they make wrong is written anew, the rest is left.
[[nodiscard]] Review review_update(const job::JobRequest& request, const Site& site);

/// What the user is to read, a line a note without the program's name; empty when nothing.
[[nodiscard]] std::string user_text(const Review& review, const job::JobRequest& request,
                                    Notes notes);

/// One line for slurmctld's log.
[[nodiscard]] std::string log_line(const Review& review, std::uint32_t uid);

}  // namespace railhead::policy
