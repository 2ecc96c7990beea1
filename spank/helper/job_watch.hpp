// One job's checkpoints, from the start of an attempt to its end: what is looked at, kept, said,
// and done about a job that fails again and again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "changes.hpp"
#include "checkpoint/record.hpp"
#include "checkpoint/state_folder.hpp"
#include "checkpoint/watch.hpp"
#include "checkpoint/watch_lock.hpp"
#include "slurm_job.hpp"
#include "watch_options.hpp"

namespace railhead::helper {

class JobWatch {
 public:
    /// Tells the job's user something: one line, which may hold names of any characters.
    using Say = std::function<void(const std::string& line)>;

    JobWatch(const WatchOptions& options, double now_s, Say say);

    /// Reads what is known of the job, and holds it where it is time.  False, without a word, where
    /// this attempt has a watcher already.
    bool begin(double now_s);
    /// Looks at the folder once.
    void look(double now_s);
    /// Writes that the attempt may be over: the process may be killed before end().
    void warn_of_end(double now_s);
    /// The last look, and the line at the end of the job.
    void end(double now_s);

    [[nodiscard]] int changes_fd() const { return changes_.fd(); }
    void drain_changes() const { changes_.drain(); }
    /// When to look again if nothing is heard of.
    [[nodiscard]] double next_look_s(double looked_s) const;
    /// When to look again because something changed: looks take a hundredth of the time.
    [[nodiscard]] double soon_s(double looked_s) const;

 private:
    [[nodiscard]] checkpoint::Attempt& attempt() { return record_.attempts.back(); }
    [[nodiscard]] checkpoint::Watcher watcher() const;
    void open_state();
    [[nodiscard]] bool take_lock();
    void read_record(const checkpoint::JobNow& now);
    void begin_attempt(double now_s);
    void find_out_how_it_ended(checkpoint::Attempt& last, double now_s) const;
    void tell_of_others();
    void hold(std::uint32_t failures, double now_s);
    void release();
    void put_comment_back();
    [[nodiscard]] std::optional<checkpoint::Scan> scan();
    void meet_trouble(const std::string& trouble);
    void take(const checkpoint::News& news, double now_s);
    void keep_cost(double now_s);
    void write();
    void ask_for_cause();
    [[nodiscard]] std::string summary(double now_s) const;

    WatchOptions options_;
    Say say_;
    SlurmJob job_;
    checkpoint::Watch watch_;
    checkpoint::Record record_;
    std::optional<checkpoint::StateFolder> state_;
    std::optional<checkpoint::WatchLock> lock_;
    std::optional<JobState> job_at_start_;
    std::optional<std::string> own_comment_;  ///< the job's, where ours stands in its place
    std::vector<double> costs_s_;             ///< of this attempt
    Changes changes_;
    bool is_again_ = false;  ///< something is followed that was not: look again at once
    bool is_there_ = false;  ///< the folder
    double scan_took_s_ = 0;
    std::string trouble_, told_trouble_;  ///< why the folder cannot be looked at
};

}  // namespace railhead::helper
