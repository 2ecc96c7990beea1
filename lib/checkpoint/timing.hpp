// What all models of checkpointing start from: how often the gang fails, and how long a checkpoint
// and a restart take.
//
// Times are seconds as double: models divide them, and a cost may be a fraction of a second.
#pragma once

#include "base/error.hpp"

namespace railhead::checkpoint {

struct TimingFacts {
    double mtbf_s = 0;     ///< mean time between failures of the whole gang (M)
    double cost_s = 0;     ///< how long training stands still for one checkpoint (δ)
    double restart_s = 0;  ///< from a failure to the first step after it (R)
    double background_s =
        0;  ///< how long the write goes on while training runs again; 0: not at all
};

/// Facts that the models can work with.
class Timing {
 public:
    /// Fails with `bad_input` unless mtbf_s and cost_s lie in [least_s, most_s], restart_s and
    /// background_s in [0, most_s].
    [[nodiscard]] static Result<Timing> make(const TimingFacts& facts);
    static constexpr double least_s = 1e-6;
    static constexpr double most_s = 1e11;  // 3000 years

    [[nodiscard]] double mtbf_s() const { return facts_.mtbf_s; }
    [[nodiscard]] double cost_s() const { return facts_.cost_s; }
    [[nodiscard]] double restart_s() const { return facts_.restart_s; }
    [[nodiscard]] double background_s() const { return facts_.background_s; }

 private:
    explicit Timing(const TimingFacts& facts) : facts_{facts} {}
    TimingFacts facts_;
};

}  // namespace railhead::checkpoint
