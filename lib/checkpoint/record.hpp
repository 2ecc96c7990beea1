// What the watcher keeps of a job, and what a user's jobs of one name cost: two JSON files.
//
// Pure: text in, text out.  A damaged text is an error, so that its file is put aside and not
// written over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/attempts.hpp"
#include "checkpoint/watch.hpp"

namespace railhead::checkpoint {

struct Hold {
    double since_s = 0;
    std::string reason;
    std::string comment;  ///< the job's own, put back when it is freed
};

/// What a watcher that begins knows of its job.
struct JobNow {
    std::string name, cluster;
    std::uint32_t restarts = 0;
    std::optional<double> submitted_s;  ///< of a requeued job: when it was requeued
};

/// jobs/ID.json, schema railhead.ckpt-record/1.
struct Record {
    std::uint32_t job = 0;
    std::string name;
    std::string cluster;                ///< by Slurm's name; empty: not known
    std::optional<double> submitted_s;  ///< as Slurm says, of the attempt that ran last
    std::string folder;
    std::string node_list;  ///< of the attempt that ran last
    double interval_s = 0;
    std::uint64_t nodes = 0;
    std::vector<Attempt> attempts;  ///< oldest first; the last one runs, or was the last
    std::uint64_t checkpoints = 0;  ///< all of them
    std::vector<Saved> latest;      ///< the last most_latest of them, oldest first
    std::uint64_t costs = 0;        ///< how many had their write time seen
    double cost_sum_s = 0;
    std::vector<Broken> broken;  ///< of the last attempt
    std::string trouble;         ///< why the folder cannot be looked at; empty: it can
    std::optional<Hold> hold;    ///< held by Railhead

    static constexpr std::size_t most_latest = 100;
    static constexpr std::size_t most_attempts = 100;

    [[nodiscard]] std::optional<double> mean_cost_s() const;
    /// Of the intervals between checkpoints of one attempt, among `latest`.
    [[nodiscard]] std::optional<double> mean_interval_s() const;
    void add(const Saved& checkpoint);

    /// Whether it is of this job: another one may have had its number before, or have it in another
    /// cluster with the same home folders.
    [[nodiscard]] bool is_of(const JobNow& now) const;
};

[[nodiscard]] std::string to_json(const Record& record);
/// Fails with `bad_input` on what is no such record.
[[nodiscard]] Result<Record> parse_record(std::string_view json);

/// What checkpoints of the jobs of one name took, newest last.
struct Costs {
    std::string name;
    struct One {
        std::uint32_t job = 0, restarts = 0;
        double cost_s = 0;  ///< the median of one attempt
        double at_s = 0;
    };
    std::vector<One> costs;

    static constexpr std::size_t most = 9;
};

/// Whether Slurm calls a job so that was given no name: such jobs have nothing in common.
[[nodiscard]] bool is_default_name(std::string_view name);

/// history.json, schema railhead.ckpt-history/1.
class History {
 public:
    /// Fails with `bad_input` on what is no history.
    [[nodiscard]] static Result<History> parse(std::string_view json);
    [[nodiscard]] std::string json() const;

    /// Puts the cost of an attempt in, in place of what it cost before.  Nothing is kept for names
    /// that Slurm gives.
    void put(const std::string& name, const Costs::One& cost);

    /// The median of the last few attempts of jobs of this name; nothing where there was none.
    [[nodiscard]] std::optional<double> cost_s(std::string_view name) const;

    static constexpr std::size_t most_names = 1000;

 private:
    std::vector<Costs> jobs_;
};

/// The middle one, or the mean of the middle two; nothing of nothing.
[[nodiscard]] std::optional<double> median(std::vector<double> values);

}  // namespace railhead::checkpoint
