#include "checkpoint/watch.hpp"

#include <algorithm>
#include <utility>

#include "checkpoint/layout_names.hpp"

namespace railhead::checkpoint {

namespace {

constexpr double ns_per_s = 1e9;

/// What changes when a checkpoint is written anew.
std::int64_t seal_of(const Found& found) {
    return found.seal_ns != 0 ? found.seal_ns : found.newest_ns;
}

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) / ns_per_s;
}

}  // namespace

bool Watch::is_known(const std::string& name, std::int64_t seal_ns) const {
    if (!looked_s_) {
        return true;
    }
    const auto at = tracks_.find(name);
    return at != tracks_.end() && at->second.seal_ns == seal_ns;
}

void Watch::follow(double now_s, const Found& found, Track& track) const {
    const bool is_same = track.newest_ns == found.newest_ns && track.bytes == found.bytes &&
                         track.files == found.files && track.verdict == found.verdict;
    if (is_same) {
        return;
    }
    track.newest_ns = found.newest_ns;
    track.bytes = found.bytes;
    track.files = found.files;
    track.verdict = found.verdict;
    track.unchanged_s = now_s;
    track.is_told = false;
}

bool Watch::is_complete(double now_s, const Found& found, const Track& track) const {
    const auto unchanged_s = now_s - track.unchanged_s;
    switch (found.verdict) {
        case Verdict::complete:
            return true;
        case Verdict::settling:
            return unchanged_s >= setup_.settle_s;
        case Verdict::quieting:
            return unchanged_s >= setup_.quiet_s || coming_.contains(found.name);
        case Verdict::writing:
            return false;
    }
    return false;
}

Saved Watch::describe(double now_s, const Found& found, const Track& track) const {
    Saved checkpoint;
    checkpoint.name = found.name;
    checkpoint.layout = to_string(found.layout);
    checkpoint.bytes = found.bytes;

    // The file system's clock is believed where it agrees with ours: the change lies before the
    // look that saw it, and behind the one before that.
    const bool is_sealed = found.verdict == Verdict::complete;
    const auto end_ns = is_sealed ? seal_of(found) : found.newest_ns;
    const auto seen_s = is_sealed ? now_s : track.unchanged_s;
    constexpr double slack_s = 2;
    const auto since_s = looked_s_.value_or(now_s) - slack_s -
                         (is_sealed ? 0 : std::max(setup_.quiet_s, setup_.settle_s));
    const bool is_likely = seconds(end_ns) <= seen_s && (!looked_s_ || seconds(end_ns) >= since_s);
    checkpoint.at_s = is_likely ? seconds(end_ns) : seen_s;

    // Its birth and its end are of one clock, whatever that says.
    const bool is_born_for_this = found.born_ns && *found.born_ns <= end_ns &&
                                  (!track.seal_ns || *found.born_ns > *track.seal_ns);
    const auto coming = coming_.find(found.name);
    if (is_born_for_this) {
        checkpoint.write_s = seconds(end_ns - *found.born_ns);
    } else if (coming != coming_.end()) {
        checkpoint.write_s = checkpoint.at_s - coming->second;
    } else if (track.was_written && checkpoint.at_s >= track.seen_s) {
        checkpoint.write_s = checkpoint.at_s - track.seen_s;
    }
    if (checkpoint.write_s && *checkpoint.write_s < 0) {
        checkpoint.write_s.reset();
    }
    return checkpoint;
}

void Watch::count(double now_s, const Found& found, Track& track, News& news) {
    auto checkpoint = describe(now_s, found, track);
    const bool is_first = !looked_s_;
    const bool is_copy = !is_first && is_copy_name(found.name) && last_s_ &&
                         checkpoint.at_s - *last_s_ <= setup_.copy_s;
    track.seal_ns = seal_of(found);
    track.was_written = false;
    coming_.erase(found.name);
    if (is_copy) {
        return;
    }
    newest_s_ = std::max(newest_s_.value_or(checkpoint.at_s), checkpoint.at_s);
    if (is_first) {
        return;
    }
    if (last_s_) {
        checkpoint.interval_s = std::max(0.0, checkpoint.at_s - *last_s_);
    }
    last_s_ = checkpoint.at_s;
    is_late_ = false;
    news.complete.push_back(std::move(checkpoint));
}

void Watch::forget_vanished(const Scan& scan) {
    const auto is_gone = [&](const auto& pair) {
        return !std::ranges::binary_search(scan.found, pair.first, {}, &Found::name);
    };
    std::erase_if(tracks_, is_gone);
    std::erase_if(coming_, [&](const auto& pair) {
        const bool is_written = std::ranges::any_of(
            scan.found, [&](const Found& found) { return found.name_to_come == pair.first; });
        return !is_written && is_gone(pair);
    });
}

News Watch::look(double now_s, const Scan& scan) {
    News news;
    // Copies are told from what they copy by who comes first.
    std::vector<const Found*> order;
    for (const auto& found : scan.found) {
        order.push_back(&found);
    }
    std::ranges::stable_sort(order, {}, [](const Found* found) {
        return std::pair{is_copy_name(found->name), seal_of(*found)};
    });
    for (const auto* const found : order) {
        const auto [at, is_new] = tracks_.try_emplace(found->name);
        auto& track = at->second;
        if (is_new) {
            track.seen_s = track.unchanged_s = now_s;
        }
        if (track.seal_ns == seal_of(*found) && found->verdict != Verdict::writing) {
            continue;
        }
        if (track.seal_ns && !track.was_written) {  // written over
            track.seen_s = now_s;
        }
        follow(now_s, *found, track);
        if (looked_s_ ? is_complete(now_s, *found, track) : found->verdict != Verdict::writing) {
            count(now_s, *found, track, news);
            continue;
        }
        track.was_written = true;
        if (!found->name_to_come.empty()) {
            coming_.try_emplace(found->name_to_come, track.seen_s);
        }
        if (found->verdict == Verdict::writing && !track.is_told &&
            now_s - track.unchanged_s >= setup_.quiet_s) {
            track.is_told = true;
            news.broken.push_back({found->name, found->why});
        }
    }
    forget_vanished(scan);
    const auto age_s = now_s - std::max(last_s_.value_or(0), setup_.started_s);
    if (setup_.interval_s > 0 && !is_late_ && age_s > setup_.late_factor * setup_.interval_s) {
        is_late_ = true;
        news.late_s = age_s;
    }
    looked_s_ = now_s;
    return news;
}

News Watch::finish(double now_s, const Scan& scan) {
    setup_.settle_s = 0;
    setup_.interval_s = 0;  // nobody can still be late
    return look(now_s, scan);
}

std::optional<double> Watch::next_look_s() const {
    std::optional<double> next;
    const auto offer = [&next](double at_s) { next = std::min(next.value_or(at_s), at_s); };
    for (const auto& [name, track] : tracks_) {
        if (track.verdict == Verdict::settling && !track.seal_ns) {
            offer(track.unchanged_s + setup_.settle_s);
        } else if (track.was_written && !track.is_told) {
            offer(track.unchanged_s + setup_.quiet_s);
        }
    }
    if (setup_.interval_s > 0 && !is_late_) {
        constexpr double behind_s = 0.01;
        offer(std::max(last_s_.value_or(0), setup_.started_s) +
              setup_.late_factor * setup_.interval_s + behind_s);
    }
    return next;
}

}  // namespace railhead::checkpoint
