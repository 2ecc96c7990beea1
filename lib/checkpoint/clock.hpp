// When a job is to be told to checkpoint: ticks on the wall clock, and one call before the end.
//
// A tick is a multiple of the interval since 1970, so that the clocks of all nodes tick at once
// without a word between them.  All here is arithmetic: time comes in as a number, and may jump.
#pragma once

#include <cstdint>
#include <optional>

namespace railhead::checkpoint {

/// When the last checkpoint of a job is to start that is at `now_s`: the lead before its end, or
/// half way to it where less than the lead is left: that may do, and not to try will not.
[[nodiscard]] std::int64_t first_deadline_s(std::int64_t end_s, std::int64_t lead_s,
                                            std::int64_t now_s);

/// What a look at the clock calls for.
enum class Due : std::uint8_t {
    nothing,
    tick,
    last  ///< the last checkpoint before the job's end
};

class Clock {
 public:
    /// No ticks where the interval is 0.  lead_s is the time from the deadline to the job's end:
    /// in it there are no ticks, since the last checkpoint is being written.
    Clock(std::int64_t interval_s, std::int64_t lead_s, std::int64_t now_ms);

    /// When the last checkpoint is to start; nothing: the job has no end that is known.  One that
    /// lies behind us when it is first heard of is too late; one that moves there is due at once.
    void set_deadline(std::optional<std::int64_t> deadline_s, std::int64_t now_ms);

    /// What is due at `now_ms`; it is then done, and not due again.
    ///
    /// A tick that is missed by half an interval, as by a job that was suspended or a clock that
    /// was put forward, is not made up for.  After a clock is put back the ticks that were given
    /// are not given again, unless it goes back by more than an interval.
    [[nodiscard]] Due take(std::int64_t now_ms);

    /// When take() next has something to give; nothing: never.
    [[nodiscard]] std::optional<std::int64_t> next_ms(std::int64_t now_ms) const;

    /// That the job was told to save for another reason: preemption.  A deadline within the lead of
    /// it is then served.
    void note_call(std::int64_t now_ms) { called_ms_ = now_ms; }
    /// Whether it was told so, or a last time, within the lead before `now_ms`.
    [[nodiscard]] bool called_lately(std::int64_t now_ms) const;

 private:
    [[nodiscard]] std::int64_t slot_of(std::int64_t now_ms) const;
    [[nodiscard]] bool in_lead(std::int64_t now_ms) const;

    std::int64_t interval_ms_, lead_ms_;
    std::int64_t slot_ = 0;  ///< the newest whose tick is done
    std::optional<std::int64_t> deadline_ms_;
    bool deadline_done_ = false;
    bool heard_ = false;                     ///< of a deadline
    std::optional<std::int64_t> called_ms_;  ///< when a last call was made
};

}  // namespace railhead::checkpoint
