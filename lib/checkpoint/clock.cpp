#include "checkpoint/clock.hpp"

#include <algorithm>

namespace railhead::checkpoint {

std::int64_t first_deadline_s(std::int64_t end_s, std::int64_t lead_s, std::int64_t now_s) {
    const auto deadline_s = end_s - lead_s;
    return deadline_s > now_s || end_s <= now_s ? deadline_s : now_s + (end_s - now_s) / 2;
}

Clock::Clock(std::int64_t interval_s, std::int64_t lead_s, std::int64_t now_ms)
    : interval_ms_{std::max<std::int64_t>(interval_s, 0) * 1000},
      lead_ms_{std::max<std::int64_t>(lead_s, 0) * 1000},
      slot_{slot_of(now_ms)} {}

std::int64_t Clock::slot_of(std::int64_t now_ms) const {
    if (interval_ms_ == 0) {
        return 0;
    }
    const auto slot = now_ms / interval_ms_;
    return now_ms % interval_ms_ < 0 ? slot - 1 : slot;  // before 1970
}

bool Clock::in_lead(std::int64_t now_ms) const {
    return deadline_ms_ && now_ms >= *deadline_ms_ && now_ms < *deadline_ms_ + lead_ms_;
}

bool Clock::called_lately(std::int64_t now_ms) const {
    return called_ms_ && now_ms >= *called_ms_ && now_ms - *called_ms_ < lead_ms_;
}

void Clock::set_deadline(std::optional<std::int64_t> deadline_s, std::int64_t now_ms) {
    const auto deadline_ms =
        deadline_s ? std::optional{*deadline_s * 1000} : std::optional<std::int64_t>{};
    if (heard_ && deadline_ms == deadline_ms_) {
        return;
    }
    const bool first = !heard_;
    heard_ = heard_ || deadline_ms.has_value();
    deadline_ms_ = deadline_ms;
    const bool behind = deadline_ms && *deadline_ms <= now_ms;
    deadline_done_ = behind && (first || called_lately(now_ms));
}

Due Clock::take(std::int64_t now_ms) {
    auto due = Due::nothing;
    const auto slot = slot_of(now_ms);
    if (slot > slot_ || slot + 1 < slot_) {
        const bool in_time = slot > slot_ && 2 * (now_ms - slot * interval_ms_) < interval_ms_;
        due = in_time && !in_lead(now_ms) ? Due::tick : Due::nothing;
        slot_ = slot;
    }
    if (deadline_ms_ && !deadline_done_ && now_ms >= *deadline_ms_) {
        deadline_done_ = true;
        if (in_lead(now_ms) && !called_lately(now_ms)) {
            called_ms_ = now_ms;
            due = Due::last;
        }
    }
    return due;
}

std::optional<std::int64_t> Clock::next_ms(std::int64_t now_ms) const {
    std::optional<std::int64_t> next;
    if (interval_ms_ > 0) {
        const auto slot = slot_of(now_ms);
        // One that the clock went far back behind is taken up again at the next look.
        const auto newest = slot + 1 < slot_ ? slot : std::max(slot, slot_);
        next = (newest + 1) * interval_ms_;
    }
    if (deadline_ms_ && !deadline_done_) {
        const auto last = std::max(*deadline_ms_, now_ms);
        next = next ? std::min(*next, last) : last;
    }
    return next;
}

}  // namespace railhead::checkpoint
