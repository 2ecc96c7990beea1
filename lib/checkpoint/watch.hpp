// What becomes of the checkpoints of a running job: looks at its folder go in, news come out.
//
// Pure: the time is told with each look, and nothing is read or written here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/layouts.hpp"

namespace railhead::checkpoint {

struct WatchSetup {
    double started_s = 0;    ///< of this attempt, seconds since 1970, as all times here
    double interval_s = 0;   ///< that is in force; 0: none, so nothing is ever late
    double late_factor = 2;  ///< intervals without a checkpoint until that is told
    double settle_s = 5;     ///< no change, where a framework writes a little behind its seal
    double quiet_s = 60;     ///< no change, where no framework says that it is complete
    double copy_s = 30;      ///< so soon behind another, "last" and "best" are copies of it
};

/// A complete checkpoint.
struct Saved {
    std::string name;
    std::string layout;
    double at_s = 0;  ///< complete since then
    /// From its first file to its completion: the most that training stood still for it, since
    /// some of it may have been written in the background.  Nothing where its beginning was not
    /// seen.
    std::optional<double> write_s;
    std::uint64_t bytes = 0;
    std::optional<double> interval_s;  ///< since the one before, of the same attempt
};

/// One that was not finished, or is damaged, and that nobody writes on.
struct Broken {
    std::string name, why;
    bool operator==(const Broken&) const = default;
};

struct News {
    std::vector<Saved> complete;
    std::vector<Broken> broken;
    std::optional<double> late_s;  ///< so old is the last checkpoint: told once until the next
};

class Watch {
 public:
    explicit Watch(const WatchSetup& setup) : setup_{setup} {}

    /// What is new.  The first look tells what was there before: nothing of it is news.
    [[nodiscard]] News look(double now_s, const Scan& scan);

    /// The last look, when the job's processes are gone: what settles needs not wait any longer.
    [[nodiscard]] News finish(double now_s, const Scan& scan);

    /// For scan_checkpoints(): its files need no look, now and at the first look.
    [[nodiscard]] bool is_known(const std::string& name, std::int64_t seal_ns) const;

    /// When it pays to look again though nothing has changed; nothing: never.
    [[nodiscard]] std::optional<double> next_look_s() const;

    /// The newest checkpoint, of this attempt or before it.
    [[nodiscard]] std::optional<double> newest_s() const { return newest_s_; }

 private:
    struct Track {
        double seen_s = 0;       ///< first, or first changed behind its completion
        double unchanged_s = 0;  ///< since then
        std::int64_t newest_ns = 0;
        std::uint64_t bytes = 0, files = 0;
        std::optional<std::int64_t> seal_ns;  ///< as it was counted
        Verdict verdict = Verdict::writing;
        bool is_told = false;      ///< that it is broken
        bool was_written = false;  ///< seen while it was not complete
    };

    void follow(double now_s, const Found& found, Track& track) const;
    [[nodiscard]] bool is_complete(double now_s, const Found& found, const Track& track) const;
    [[nodiscard]] Saved describe(double now_s, const Found& found, const Track& track) const;
    void count(double now_s, const Found& found, Track& track, News& news);
    void forget_vanished(const Scan& scan);

    WatchSetup setup_;
    std::map<std::string, Track> tracks_;
    std::map<std::string, double> coming_;  ///< names to come, since when they are written
    std::optional<double> looked_s_, newest_s_, last_s_;
    bool is_late_ = false;
};

}  // namespace railhead::checkpoint
