// The start of an attempt: what is known of those before it, and the hold of a job that failed
// again and again.
#include "base/environment.hpp"
#include "job_watch.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace railhead::helper {

namespace {

using namespace std::chrono_literals;
using checkpoint::Attempt;
using checkpoint::Cause;

constexpr const char* cluster_variable = "SLURM_CLUSTER_NAME";

/// For the place of records: a step of "srun --export=NONE" has no HOME, but its user has.
std::optional<std::string> variable_of_user(std::string_view name) {
    auto value = own_variable(name);
    if (value || name != "HOME") {
        return value;
    }
    const auto* const account = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe)
    return account == nullptr ? std::nullopt : std::optional<std::string>{account->pw_dir};
}

}  // namespace

// ---- the record ----------------------------------------------------------------------------

void JobWatch::open_state() {
    const auto path = checkpoint::state_path(&variable_of_user);
    auto state = path ? checkpoint::StateFolder::make(*path, ::geteuid())
                      : Result<checkpoint::StateFolder>{tl::unexpected{path.error()}};
    if (!state) {
        return say_("no record of this job's checkpoints is kept: " + state.error().message);
    }
    state_ = std::move(*state);
}

/// Steps that run at once, or below a batch step that has a watcher, each start one.  Where the
/// file system knows no locks, all of them watch.
bool JobWatch::take_lock() {
    if (!state_) {
        return true;
    }
    auto lock = checkpoint::WatchLock::take(*state_, watcher());
    if (lock && *lock) {
        lock_.emplace(std::move(**lock));
    }
    return !lock || lock->has_value();
}

checkpoint::Watcher JobWatch::watcher() const {
    return {own_variable(cluster_variable).value_or(""), options_.job, options_.restarts,
            options_.folder};
}

void JobWatch::read_record(const checkpoint::JobNow& now) {
    if (!state_) {
        return;
    }
    auto found = state_->read_record(options_.job);
    if (found) {
        if (found->is_of(now)) {
            record_ = std::move(*found);
        }
        return;
    }
    if (found.error().code == Errc::not_found) {
        return;
    }
    const auto aside = state_->put_record_aside(options_.job);
    say_(found.error().message +
         (aside ? fmt::format(": put aside as \"{}\", a new record begins", *aside)
                : std::string{": "} + aside.error().message));
    if (!aside) {
        state_.reset();
    }
}

void JobWatch::begin_attempt(double now_s) {
    if (auto job = job_.look(5s)) {
        job_at_start_ = std::move(*job);
    }
    const auto submitted_s = job_at_start_ ? job_at_start_->submitted_s : std::nullopt;
    const auto cluster = watcher().cluster;
    read_record({options_.name, cluster, options_.restarts, submitted_s});
    record_.job = options_.job;
    record_.name = options_.name;
    record_.cluster = cluster;
    record_.folder = options_.folder;
    record_.interval_s = options_.interval_s;
    record_.nodes = options_.nodes;
    record_.broken.clear();
    const bool is_same = !record_.attempts.empty() && attempt().restarts == options_.restarts;
    if (is_same) {  // another step of it
        attempt().ended_s.reset();
        attempt().cause = Cause::unknown;
    } else {
        if (!record_.attempts.empty()) {
            find_out_how_it_ended(attempt(), now_s);
        }
        if (record_.hold) {  // it runs, so somebody has freed it
            own_comment_ = record_.hold->comment;
            record_.hold.reset();
        }
        record_.attempts.push_back({options_.restarts, now_s, std::nullopt, Cause::unknown, 0, {}});
        if (record_.attempts.size() > checkpoint::Record::most_attempts) {
            record_.attempts.erase(record_.attempts.begin());
        }
    }
    record_.submitted_s = submitted_s;
    record_.node_list = own_variable("SLURM_JOB_NODELIST").value_or("");
}

/// Accounting tells how an attempt ended, where there is some.  slurmctld alone keeps no more of it
/// than the time of the requeue.
void JobWatch::find_out_how_it_ended(Attempt& last, double now_s) const {
    const bool is_seen = last.ended_s && last.cause != Cause::unknown &&
                         last.cause != Cause::requeued && last.cause != Cause::exited;
    if (is_seen) {
        return;
    }
    const auto told = job_.ended_by(last.restarts, 5s);
    if (told && *told != Cause::unknown) {
        last.cause = *told;
    } else if (last.cause == Cause::exited) {
        last.cause = Cause::failed;  // it would not be requeued else
    }
    if (last.cause == Cause::requeued) {
        if (SlurmJob::has_rebooted_node(record_.node_list, last.started_s, 5s)) {
            last.cause = Cause::node;
        } else if (last.has_failed_step &&
                   (told == Cause::requeued || SlurmJob::is_without_preemption(5s))) {
            last.cause = Cause::failed;  // "srun ... || scontrol requeue"
        }
    }
    if (!last.ended_s) {
        const auto requeued_s = job_at_start_ ? job_at_start_->submitted_s : std::nullopt;
        last.ended_s = std::max(last.started_s, requeued_s.value_or(now_s));
    }
}

/// What lies in a folder of two jobs may be either's, so the other's checkpoints count here.
void JobWatch::tell_of_others() {
    const auto other = state_ ? checkpoint::other_job_in_folder(*state_, watcher()) : std::nullopt;
    if (other) {
        say_(
            fmt::format("job {} has the same --ckpt-dir \"{}\": the checkpoints of both count here",
                        *other, options_.folder));
    }
}

bool JobWatch::begin(double now_s) {
    open_state();
    if (!take_lock()) {
        return false;
    }
    // At once: what is written from now on is this attempt's.
    if (const auto found = scan()) {
        static_cast<void>(watch_.look(now_s, *found));
    }
    begin_attempt(now_s);
    tell_of_others();
    const auto before = std::span{record_.attempts}.first(record_.attempts.size() - 1);
    const auto failures = checkpoint::failures_in_a_row(before);
    if (options_.hold && attempt().checkpoints == 0 && !record_.hold &&
        checkpoint::is_to_be_held(failures, options_.attempts)) {
        hold(failures, now_s);
    } else if (options_.hold && own_comment_) {
        put_comment_back();
    }
    write();
    return true;
}

// ---- hold ----------------------------------------------------------------------------------

void JobWatch::hold(std::uint32_t failures, double now_s) {
    const auto reason = checkpoint::hold_reason(failures, options_.job);
    const auto& job = job_at_start_;
    if (job && !job->can_requeue) {
        return;
    }
    if (auto held = job_.hold(); !held) {
        return say_("the job cannot be held: " + held.error().message);
    }
    const auto comment = own_comment_.value_or(job ? job->comment : std::string{});
    record_.hold = checkpoint::Hold{now_s, reason, comment};
    say_(reason.substr(std::string_view{"railhead: "}.size()));
    const auto all = comment.empty() ? reason : comment + "; " + reason;
    if (auto set = job_.set_comment(all); !set) {
        say_(set.error().message);
    }
}

void JobWatch::put_comment_back() {
    if (auto set = job_.set_comment(*own_comment_); !set) {
        say_(set.error().message);
    }
    own_comment_.reset();
}

void JobWatch::release() {
    if (!record_.hold || !options_.hold) {
        return;
    }
    if (auto released = job_.release(); !released) {
        return say_("the job stays held: " + released.error().message);
    }
    own_comment_ = record_.hold->comment;
    put_comment_back();
    record_.hold.reset();
    write();
    say_("a checkpoint is complete: the job is held no longer");
}

}  // namespace railhead::helper
