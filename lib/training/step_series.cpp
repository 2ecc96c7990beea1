#include "training/step_series.hpp"

namespace railhead::training {

/// Marsaglia's xorshift64 (2003): small, and good enough to pick lines.
std::uint64_t StepSeries::draw() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
}

void StepSeries::add(const Sample& sample) {
    ++lines_;
    if (in_group_ == 0) {
        pick_ = draw() % stride_;
    }
    if (in_group_ == pick_) {
        if (samples_.size() == limit) {
            halve();
            in_group_ = 0;
            pick_ = draw() % stride_;
            if (pick_ == 0) {
                samples_.push_back(sample);
            }
        } else {
            samples_.push_back(sample);
        }
    }
    in_group_ = (in_group_ + 1) % stride_;
}

void StepSeries::halve() {
    for (std::size_t i = 0; i < samples_.size() / 2; ++i) {
        samples_[i] = samples_[2 * i + draw() % 2];
    }
    samples_.resize(samples_.size() / 2);
    stride_ *= 2;
}

}  // namespace railhead::training
