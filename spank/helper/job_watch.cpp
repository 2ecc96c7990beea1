#include "job_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/quantity_text.hpp"

namespace railhead::helper {

namespace {

using namespace std::chrono_literals;
using checkpoint::Cause;

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
