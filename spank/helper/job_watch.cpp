#include "job_watch.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"

namespace railhead::helper {

namespace {

using namespace std::chrono_literals;
using checkpoint::Attempt;
using checkpoint::Cause;

constexpr const char* cluster_variable = "SLURM_CLUSTER_NAME";

std::optional<std::string> own_variable(std::string_view name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    const char* value = std::getenv(std::string{name}.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

/// For the place of records: a step of "srun --export=NONE" has no HOME, but its user has.
std::optional<std::string> variable_of_user(std::string_view name) {
    auto value = own_variable(name);
    if (value || name != "HOME") {
        return value;
    }
    const auto* const account = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe)
    return account == nullptr ? std::nullopt : std::optional<std::string>{account->pw_dir};
}

/// The folder in which a folder is named.
std::string folder_above(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

}  // namespace

JobWatch::JobWatch(const WatchOptions& options, double now_s, Say say)
    : options_{options},
      say_{std::move(say)},
      job_{options.job},
      watch_{{.started_s = now_s,
              .interval_s = options.interval_s,
              .settle_s = options.settle_s,
              .quiet_s = options.quiet_s}} {}

// ---- the start -----------------------------------------------------------------------------

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

// ---- looks ---------------------------------------------------------------------------------

/// A folder that is not there has nothing in it: a trainer makes it when it first writes.  One that
/// cannot be opened tells nothing, not even that what was seen in it is gone.
std::optional<checkpoint::Scan> JobWatch::scan() {
    const auto begun = std::chrono::steady_clock::now();
    const auto folder = checkpoint::Folder::open(options_.folder);
    is_there_ = folder.has_value();
    is_again_ = false;
    if (folder || folder.error().code == Errc::not_found) {
        trouble_.clear();
    } else {
        meet_trouble(folder.error().message);
        return std::nullopt;
    }
    checkpoint::Scan scan;
    if (folder) {
        scan = checkpoint::scan_checkpoints(*folder, {},
                                            [this](const std::string& name, std::int64_t seal_ns) {
                                                return watch_.is_known(name, seal_ns);
                                            });
        is_again_ = changes_.follow(*folder, scan);
    } else if (const auto above = checkpoint::Folder::open(folder_above(options_.folder))) {
        is_again_ = changes_.follow(*above, {});
    }
    scan_took_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return scan;
}

/// Says it once, however often it comes back.
void JobWatch::meet_trouble(const std::string& trouble) {
    trouble_ = trouble;
    if (told_trouble_ != trouble) {
        told_trouble_ = trouble;
        say_("the checkpoints are not watched: " + trouble);
    }
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
    constexpr double missing_s = 1;  // the first checkpoint may be short-lived
    if (!is_there_) {
        return std::max(looked_s + std::min(usual_s, is_again_ ? 0 : missing_s), soon_s(looked_s));
    }
    auto next_s = is_again_ ? looked_s : looked_s + usual_s;
    if (const auto due_s = watch_.next_look_s()) {
        next_s = std::min(next_s, *due_s);
    }
    return std::max(next_s, soon_s(looked_s));
}

void JobWatch::look(double now_s) {
    if (const auto found = scan()) {
        take(watch_.look(now_s, *found), now_s);
    }
    if (record_.trouble != trouble_) {
        write();
    }
}

void JobWatch::take(const checkpoint::News& news, double now_s) {
    for (const auto& checkpoint : news.complete) {
        record_.add(checkpoint);
        if (checkpoint.write_s && *checkpoint.write_s > 0) {
            costs_s_.push_back(*checkpoint.write_s);
        }
    }
    for (const auto& broken : news.broken) {
        record_.broken.push_back(broken);
        say_(fmt::format("checkpoint \"{}\" is not complete: {}", broken.name, broken.why));
    }
    if (news.late_s) {
        say_(fmt::format("no checkpoint in \"{}\" for {}: the interval is {}", options_.folder,
                         report::time_text(*news.late_s), report::time_text(options_.interval_s)));
    }
    if (!news.complete.empty()) {
        keep_cost(now_s);
    }
    if (!news.complete.empty() || !news.broken.empty()) {
        write();
    }
    if (!news.complete.empty()) {
        release();
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
        say_("the cost of a checkpoint is not kept: " + kept.error().message);
    } else if (!told.empty()) {
        say_(told);
    }
}

void JobWatch::write() {
    record_.trouble = trouble_;
    if (!state_) {
        return;
    }
    if (auto written = state_->write_record(record_); !written) {
        say_(written.error().message);
    }
}

// ---- the end -------------------------------------------------------------------------------

void JobWatch::ask_for_cause() {
    // The step waits for this process for a second.
    const auto job = job_.look(400ms);
    if (!job) {
        return;
    }
    checkpoint::JobEnd end{job->state, job->exit_code, job->restarts, false, job->worst_step};
    const bool is_requeued = job->restarts > options_.restarts;
    end.has_dead_node = is_requeued && (has_lost_batch_host(*job) || job_.has_dead_node(300ms));
    attempt().cause = checkpoint::cause_of_end(end, options_.restarts);
    attempt().has_failed_step = is_requeued && checkpoint::has_failed_step(end);
}

void JobWatch::warn_of_end(double now_s) {
    attempt().ended_s = now_s;
    ask_for_cause();
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
    if (!trouble_.empty()) {
        text += "; not watched: " + trouble_;
    }
    return text;
}

void JobWatch::end(double now_s) {
    if (const auto found = scan()) {
        take(watch_.finish(now_s, *found), now_s);
    }
    if (attempt().cause == Cause::unknown || attempt().cause == Cause::exited) {
        ask_for_cause();
    }
    attempt().ended_s = now_s;
    write();
    say_(summary(now_s));
}

}  // namespace railhead::helper
