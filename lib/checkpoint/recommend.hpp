// How often should this job write a checkpoint, and what does it lose?  What `railhead ckpt`
// answers.
//
// Takes what is known of a job, fills in the rest from published figures, and says each figure that
// it filled in, where it is from, and whether it is a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/interval.hpp"
#include "checkpoint/levels.hpp"
#include "checkpoint/mtbf.hpp"
#include "checkpoint/question.hpp"

namespace railhead::checkpoint {

enum class Unit : std::uint8_t { seconds, per_1000_node_days, gpus_per_node, bytes_per_param };

/// A figure that was not given.
struct Assumption {
    std::string_view what;
    double value = 0;
    Unit unit = Unit::seconds;
    std::string source;
    bool is_guess = false;  ///< it may well be otherwise here
};

struct Failures {
    double mtbf_s = 0;
    std::optional<std::uint64_t> nodes;
    std::optional<double> per_1000_node_days;
    std::string from;                      ///< "given", or what it was reckoned from
    std::optional<MtbfEstimate> estimate;  ///< where failures were counted, for this gang
    double expected = 0;                   ///< in `span_s`
    double none_chance = 0;                ///< that none happens in it
};

struct Checkpoint {
    double cost_s = 0;
    double background_s = 0;
    std::optional<double> bytes;
    std::optional<double> bytes_per_s;          ///< of the storage, left for this job
    std::optional<double> needed_bytes_per_s;   ///< to write within cost and background
    std::optional<double> average_bytes_per_s;  ///< to write within an interval
};

enum class Reason : std::uint8_t {
    optimum,    ///< the least wall time
    background  ///< the optimum is shorter than a write in the background
};

struct Outcome {
    double interval_s = 0;
    std::optional<double> steps;
    Shares shares;
    double ettr_v1 = 0;
    double ettr_v2 = 0;
    double lost_s = 0;  ///< of span_s
};

struct LevelsOutcome {
    TwoLevels levels;
    Pattern pattern;
    double ettr = 0;
    double lost_s = 0;  ///< of span_s
};

struct Recommendation {
    explicit Recommendation(const Timing& facts) : timing{facts} {}

    Timing timing;
    Failures failures;
    Checkpoint checkpoint;
    double young_s = 0, daly_first_order_s = 0, daly_s = 0, optimum_s = 0;
    Outcome chosen;
    Reason reason = Reason::optimum;
    std::optional<Outcome> own;
    std::optional<LevelsOutcome> levels;
    double span_s = 0;  ///< the time limit; a day where none is given
    bool has_time_limit = false;
    std::vector<Assumption> assumptions;
    std::vector<std::string> notes;  ///< what should be known before it is followed
};

/// Fails with `bad_input` where a figure is missing that no guess can stand for (how often the gang
/// fails; cost, or size and bandwidth), two figures contradict each other, or one is out of range.
[[nodiscard]] Result<Recommendation> recommend(const Question& question);

/// The outcome of another interval of the same job.
[[nodiscard]] Outcome outcome_of(const Timing& timing, double interval_s, double span_s);

}  // namespace railhead::checkpoint
