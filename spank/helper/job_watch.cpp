#include "job_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "report/quantity_text.hpp"

namespace railhead::helper {

namespace {

using namespace std::chrono_literals;
using checkpoint::Attempt;
using checkpoint::Cause;

/// One line on the job's standard error, written at once so that no other gets into it.
void say(const std::string& text) {
    static_cast<void>(write_all(STDERR_FILENO, "railhead: " + printable(text) + "\n"));
}

void say(const Error& error) {
    say(error.message);
}

std::optional<std::string> own_variable(std::string_view name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    const char* value = std::getenv(std::string{name}.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

/// A folder that cannot be opened has nothing in it: a trainer makes it when it first writes.
checkpoint::Scan scan_folder(const std::string& path, const checkpoint::Watch& watch,
                             Changes& changes, bool& is_again) {
    const auto folder = checkpoint::Folder::open(path);
    if (!folder) {
        is_again = false;
        return {};
    }
    auto scan = checkpoint::scan_checkpoints(
        *folder, {}, [&watch](const std::string& name, std::int64_t seal_ns) {
            return watch.is_known(name, seal_ns);
        });
    is_again = changes.follow(*folder, scan);
    return scan;
}

}  // namespace

JobWatch::JobWatch(const WatchOptions& options, double now_s)
    : options_{options},
      job_{options.job},
      watch_{{.started_s = now_s,
              .interval_s = options.interval_s,
              .settle_s = options.settle_s,
              .quiet_s = options.quiet_s}} {}

// ---- the start -----------------------------------------------------------------------------

/// Whether a record is of this job, and not of one that had its number before.
bool JobWatch::continues(const checkpoint::Record& found) const {
    return found.name == options_.name && !found.attempts.empty() &&
           found.attempts.back().restarts <= options_.restarts;
}

void JobWatch::read_record(double now_s) {
    const auto path = checkpoint::state_path(&own_variable);
    auto state = path ? checkpoint::StateFolder::make(*path, ::geteuid())
                      : Result<checkpoint::StateFolder>{tl::unexpected{path.error()}};
    if (!state) {
        say("no record of this job's checkpoints is kept: " + state.error().message);
    } else {
        state_ = std::move(*state);
        auto found = state_->read_record(options_.job);
        if (!found && found.error().code != Errc::not_found) {
            const auto aside = state_->put_record_aside(options_.job);
            say(found.error().message +
                (aside ? fmt::format(": put aside as \"{}\", a new record begins", *aside)
                       : std::string{": "} + aside.error().message));
            if (!aside) {
                state_.reset();
            }
        } else if (found && continues(*found)) {
            record_ = std::move(*found);
        }
    }
    record_.job = options_.job;
    record_.name = options_.name;
    record_.folder = options_.folder;
    record_.interval_s = options_.interval_s;
    record_.nodes = options_.nodes;
    record_.broken.clear();
    const bool is_same = !record_.attempts.empty() && attempt().restarts == options_.restarts;
    if (is_same) {  // another step of it
        attempt().ended_s.reset();
        attempt().cause = Cause::unknown;
        return;
    }
    if (!record_.attempts.empty()) {
        find_out_how_it_ended(attempt(), now_s);
    }
    record_.attempts.push_back({options_.restarts, now_s, std::nullopt, Cause::unknown, 0, {}});
    if (record_.attempts.size() > checkpoint::Record::most_attempts) {
        record_.attempts.erase(record_.attempts.begin());
    }
}

/// Accounting tells how an attempt ended, where there is some.  slurmctld alone keeps no more of it
/// than the time of the requeue.
void JobWatch::find_out_how_it_ended(Attempt& last, double now_s) const {
    const bool is_seen = last.ended_s && last.cause != Cause::unknown &&
                         last.cause != Cause::requeued && last.cause != Cause::exited;
    if (is_seen) {
        return;
    }
    if (const auto cause = job_.ended_by(last.restarts, 5s); cause && *cause != Cause::unknown) {
        last.cause = *cause;
    }
    if (!last.ended_s) {
        const auto job = job_.look(5s);
        last.ended_s = std::max(last.started_s, job ? job->submitted_s.value_or(now_s) : now_s);
    }
}

void JobWatch::begin(double now_s) {
    read_record(now_s);
    static_cast<void>(watch_.look(now_s, scan()));
    auto& now = attempt();
    if (!now.last_s && now.checkpoints == 0 && watch_.newest_s()) {
        now.last_s = std::min(*watch_.newest_s(), now.started_s);
    }
    const auto before = std::span{record_.attempts}.first(record_.attempts.size() - 1);
    const auto failures = checkpoint::failures_in_a_row(before);
    if (options_.hold && now.checkpoints == 0 && !record_.hold &&
        checkpoint::is_to_be_held(failures, options_.attempts)) {
        hold(failures, now_s);
    }
    write();
}

// ---- hold ----------------------------------------------------------------------------------

void JobWatch::hold(std::uint32_t failures, double now_s) {
    const auto reason = checkpoint::hold_reason(failures, options_.job);
    const auto job = job_.look(5s);
    if (auto held = job_.hold(); !held) {
        return say("the job cannot be held: " + held.error().message);
    }
    const auto comment = job ? job->comment : std::string{};
    record_.hold = checkpoint::Hold{now_s, reason, comment};
    say(reason.substr(std::string_view{"railhead: "}.size()));
    const auto all = comment.empty() ? reason : comment + "; " + reason;
    if (auto set = job_.set_comment(all); !set) {
        say(set.error());
    }
}

void JobWatch::release() {
    if (!record_.hold || !options_.hold) {
        return;
    }
    if (auto released = job_.release(); !released) {
        return say("the job stays held: " + released.error().message);
    }
    if (auto set = job_.set_comment(record_.hold->comment); !set) {
        say(set.error());
    }
    record_.hold.reset();
    say("a checkpoint is complete: the job is held no longer");
}

// ---- looks ---------------------------------------------------------------------------------

checkpoint::Scan JobWatch::scan() {
    const auto begun = std::chrono::steady_clock::now();
    auto scan = scan_folder(options_.folder, watch_, changes_, is_again_);
    scan_took_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return scan;
}

double JobWatch::soon_s(double looked_s) const {
    constexpr double least_s = 0.2;
    constexpr double share = 100;
    return looked_s + std::max(least_s, share * scan_took_s_);
}

double JobWatch::next_look_s(double looked_s) const {
    constexpr double heard_s = 30;  // inotify may have lost something
    constexpr double polled_s = 10;
    const auto usual_s = options_.poll_s.value_or(changes_.fd() >= 0 ? heard_s : polled_s);
    auto next_s = is_again_ ? looked_s : looked_s + usual_s;
    if (const auto due_s = watch_.next_look_s()) {
        next_s = std::min(next_s, *due_s);
    }
    return std::max(next_s, soon_s(looked_s));
}

void JobWatch::look(double now_s) {
    take(watch_.look(now_s, scan()), now_s);
}

void JobWatch::take(const checkpoint::News& news, double now_s) {
    for (const auto& checkpoint : news.complete) {
        record_.add(checkpoint);
        if (checkpoint.write_s && *checkpoint.write_s > 0) {
            costs_s_.push_back(*checkpoint.write_s);
        }
        if (checkpoint.interval_s) {
            intervals_s_.push_back(*checkpoint.interval_s);
        }
    }
    for (const auto& broken : news.broken) {
        record_.broken.push_back(broken);
        say(fmt::format("checkpoint \"{}\" is not complete: {}", broken.name, broken.why));
    }
    if (news.late_s) {
        say(fmt::format("no checkpoint in \"{}\" for {}: the interval is {}", options_.folder,
                        report::time_text(*news.late_s), report::time_text(options_.interval_s)));
    }
    if (!news.complete.empty()) {
        release();
        keep_cost(now_s);
    }
    if (!news.complete.empty() || !news.broken.empty()) {
        write();
    }
}

/// The next job of this name reckons with it.
void JobWatch::keep_cost(double now_s) {
    const auto cost_s = checkpoint::median(costs_s_);
    if (!state_ || !cost_s) {
        return;
    }
    std::string told;
    auto kept =
        state_->add_cost(options_.name, {options_.job, options_.restarts, *cost_s, now_s}, told);
    if (!kept) {
        say("the cost of a checkpoint is not kept: " + kept.error().message);
    } else if (!told.empty()) {
        say(told);
    }
}

void JobWatch::write() {
    if (!state_) {
        return;
    }
    if (auto written = state_->write_record(record_); !written) {
        say(written.error());
    }
}

// ---- the end -------------------------------------------------------------------------------

Cause JobWatch::ask_for_cause() const {
    // The step waits for this process for a second.
    const auto job = job_.look(400ms);
    if (!job) {
        return Cause::unknown;
    }
    checkpoint::JobEnd end{job->state, job->exit_code, job->restarts, false};
    const bool is_requeued = job->restarts > options_.restarts;
    end.has_dead_node = is_requeued && job_.has_dead_node(300ms);
    return checkpoint::cause_of_end(end, options_.restarts);
}

void JobWatch::warn_of_end(double now_s) {
    attempt().ended_s = now_s;
    attempt().cause = ask_for_cause();
    write();
}

std::string JobWatch::summary(double now_s) const {
    const auto& last = record_.attempts.back();
    auto text =
        fmt::format("job {}: {} complete", options_.job, count_of(last.checkpoints, "checkpoint"));
    if (!costs_s_.empty()) {
        double sum_s = 0;
        for (const auto cost_s : costs_s_) {
            sum_s += cost_s;
        }
        text += fmt::format(", mean write time {}",
                            report::time_text(sum_s / static_cast<double>(costs_s_.size())));
    }
    const auto since_s = std::max(0.0, now_s - last.last_s.value_or(last.started_s));
    text += fmt::format(", {} of work since {}",
                        report::time_text(std::min(since_s, now_s - last.started_s)),
                        last.checkpoints > 0 ? "the last one" : "the start");
    if (last.cause != Cause::unknown && last.cause != Cause::exited) {
        text += fmt::format("; ended: {}", checkpoint::to_string(last.cause));
    }
    if (!record_.broken.empty()) {
        text += fmt::format("; {} not complete", record_.broken.size());
    }
    return text;
}

void JobWatch::end(double now_s) {
    take(watch_.finish(now_s, scan()), now_s);
    if (attempt().cause == Cause::unknown) {
        attempt().cause = ask_for_cause();
    }
    attempt().ended_s = now_s;
    write();
    say(summary(now_s));
}

}  // namespace railhead::helper
