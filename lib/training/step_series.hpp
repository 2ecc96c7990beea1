// The steps of a training run, kept in bounded memory however long the run is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace railhead::training {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// What happened between a step's line and the one before.
enum StepMark : std::uint8_t {
    after_validation = 1,
    after_checkpoint = 2,
    after_start = 4,  ///< the first step of a run
};

/// One line about a step, or about several of which it gives the mean.
struct Sample {
    std::uint64_t iteration = 0;  ///< as printed; else its number in the run, from 1
    std::uint64_t line = 0;
    double time = no_value;  ///< in the unit of Run::measure; not a number: not printed
    double loss = no_value;  ///< may be infinite, as printed
    double tflops = no_value;
    double grad_norm = no_value;  ///< may be infinite, as printed
    std::uint8_t marks = 0;  ///< StepMark, or-ed
};

/// Keeps all samples up to a limit; from there on one of 2, of 4, of 8, ... by chance, which is
/// the same in every run of the program.  A sample of a sample is fair: its quartiles and its share
/// of slow steps are those of the whole, and no period of the steps can hide in a regular pick.
class StepSeries {
 public:
    static constexpr std::size_t limit = 16384;

    void add(const Sample& sample);
    [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
    [[nodiscard]] std::vector<Sample>& samples() { return samples_; }
    /// Each sample stands for this many lines.
    [[nodiscard]] std::uint64_t stride() const { return stride_; }
    /// Lines that were given.
    [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
    void halve();
    [[nodiscard]] std::uint64_t draw();
    std::vector<Sample> samples_;
    std::uint64_t stride_ = 1;
    std::uint64_t lines_ = 0;
    std::uint64_t in_group_ = 0;  ///< of the stride_ lines of which one is taken
    std::uint64_t pick_ = 0;
    std::uint64_t state_ = 0x9E3779B97F4A7C15U;
};

}  // namespace railhead::training
