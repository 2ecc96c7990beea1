// Inside of the checkpoint rule: what it knows of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/schedule.hpp"
#include "checkpoint/wish.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

struct CheckpointJob {
    std::optional<double> own_interval_s;
    std::optional<checkpoint::SignalWish> signal;  ///< --ckpt-signal; number 0: none
    bool asked = false;                            ///< says a word of ours
    std::string_view declared;  ///< by what it says that it can resume; empty: it does not
    checkpoint::ScheduleFacts facts;
    checkpoint::Schedule schedule;
};

/// What the user says, and how many nodes there will be.  What cannot be read is told and does not
/// count.
[[nodiscard]] CheckpointJob read_checkpoint_job(Work& work);
/// The rest of job.facts: the user's figures, else the policy's, else the usual ones.
void read_facts(Work& work, CheckpointJob& job);

/// Whose interval it is, as RAILHEAD_CKPT_FROM says it.
[[nodiscard]] std::string_view source_of(const Work& work, const CheckpointJob& job);
/// Whether the clock on the nodes signals the job: always where it says --ckpt-signal, never where
/// that is none, else where the policy has a clock for what declares.  Slurm then does not.
[[nodiscard]] bool has_clock(const Work& work, const CheckpointJob& job);

/// The job's time limit in minutes, or what its partitions give it; job::unlimited for none.
[[nodiscard]] std::uint32_t limit_min_of(const Work& work);
/// The least time that the job may be given; nothing where it has no limit, or none is known.
[[nodiscard]] std::optional<std::uint64_t> limit_s_of(const Work& work);

/// Notes something under the rule's mode; later components of a job do not repeat it to the user.
void say_of_checkpoints(Work& work, NoteKind kind, std::string text);

}  // namespace railhead::policy
