#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/mfu.hpp"
#include "report/svg.hpp"

namespace railhead::report {

namespace {

using training::LogSummary;
using training::Sample;
using training::TrainingLog;

constexpr double width = 720;
constexpr double height = 380;
constexpr Box plot{84, 64, 612, 250};
constexpr std::size_t most_points = 1200;  // more than there are pixels

/// Hues that colour-blind eyes tell apart; red is kept for a level that was lost.
constexpr std::string_view style = R"(text{font:12px system-ui,sans-serif;fill:#1f2937}
.c{text-anchor:middle}.e{text-anchor:end}.s{font-size:10px;fill:#4b5563}.h{font-size:15px;font-weight:600}
.page{fill:#fff}.plot{fill:#f8fafc;stroke:#cbd5e1}.grid{fill:none;stroke:#e2e8f0}
.step{fill:#0072b2;fill-opacity:.6}.slow{fill:#e69f00}.level{fill:none;stroke:#009e73;stroke-width:2.5}
.drop{fill:none;stroke:#dc2626;stroke-width:1.5;stroke-dasharray:4 3}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}.page{fill:#0f172a}.plot{fill:#131d33;stroke:#334155}
.grid{stroke:#25324a}.step{fill:#4da3dc}.level{stroke:#2fc79a}.drop{stroke:#f87171}}
)";

/// 1, 2 or 5 times a power of ten, of which four to ten fit into `range`, which is above 0.
double tick_step(double range) {
    const auto power = std::pow(10, std::floor(std::log10(range / 4)));
    for (const auto step : {5.0, 2.0}) {
        if (step * power <= range / 4) {
            return step * power;
        }
    }
    return power;
}

/// Multiples of `step` from `low` to `high`; a dozen at most.
std::vector<double> ticks(double low, double high, double step) {
    std::vector<double> at;
    for (int i = 0; i < 12; ++i) {
        const auto tick = (std::ceil(low / step) + i) * step;
        if (tick <= high) {
            at.push_back(tick);
        }
    }
    return at;
}

class Picture {
 public:
    Picture(const TrainingLog& log, const LogSummary& summary) : log_{log}, summary_{summary} {
        for (const auto& sample : log.runs[summary.run].series.samples()) {
            if (std::isfinite(sample.time)) {
                samples_.push_back(sample);
            }
        }
        if (samples_.empty()) {
            return;
        }
        first_ = static_cast<double>(samples_.front().iteration);
        last_ = std::max(first_ + 1, static_cast<double>(samples_.back().iteration));
        // Slow steps may be far off: the usual ones are to be seen.
        low_ = summary.time.median;
        high_ = summary.time.median;
        for (const auto& level : summary.levels) {
            low_ = std::min(low_, level.time);
            high_ = std::max(high_, level.time);
        }
        const double spread = summary.levels.size() > 1 ? 0 : summary.time.q3 - summary.time.q1;
        const auto room = std::max({(high_ - low_) / 2, 3 * spread, 0.02 * summary.time.median});
        low_ = std::max(0.0, low_ - room);
        high_ += room;
    }

    std::string draw() {
        svg_.rect({0, 0, width, height}, "page");
        svg_.text(plot.x, 26, "h", "Speed of the run, step by step");
        svg_.text(plot.x, 46, "s",
                  fmt::format("{}: {} about steps, median {}", printable(log_.file),
                              count_of(summary_.lines, "line"),
                              speed_text(summary_.measure, summary_.time.median)));
        svg_.rect(plot, "plot");
        if (samples_.empty()) {
            svg_.text(plot.middle(), plot.y + 125, "c", "the log has no step times");
        } else {
            draw_axes();
            draw_steps();
            draw_levels();
        }
        return svg_.file(width, height, "Speed of a training run over its iterations", style);
    }

 private:
    [[nodiscard]] double x_of(double iteration) const {
        return plot.x + plot.width * (iteration - first_) / (last_ - first_);
    }
    [[nodiscard]] double y_of(double time) const {
        const auto share = (std::clamp(time, low_, high_) - low_) / (high_ - low_);
        return plot.bottom() - plot.height * share;
    }

    void draw_axes() {
        const auto step = tick_step(high_ - low_);
        for (const auto time : ticks(low_, high_, step)) {
            const auto y = y_of(time);
            const std::array<Point, 2> across{{{plot.x, y}, {plot.right(), y}}};
            svg_.line(across, "grid");
            svg_.text(plot.x - 6, y + 4, "e s", axis_text(time));
        }
        const auto stride = std::max(1.0, tick_step(last_ - first_));
        for (const auto iteration : ticks(first_, last_, stride)) {
            const auto x = x_of(iteration);
            const std::array<Point, 2> down{{{x, plot.y}, {x, plot.bottom()}}};
            svg_.line(down, "grid");
            svg_.text(x, plot.bottom() + 16, "c s", fmt::format("{:.0f}", iteration));
        }
        svg_.text(
            plot.middle(), plot.bottom() + 34, "c s",
            fmt::format("iteration; up is slower ({}); steps beyond the frame lie on its edge",
                        unit_text()));
    }

    [[nodiscard]] std::string_view unit_text() const {
        switch (summary_.measure) {
            case training::Measure::step_s:
                return "seconds a step";
            case training::Measure::seconds_a_token_gpu:
                return "tokens/s a GPU";
            case training::Measure::seconds_a_sample:
                return "samples/s";
            case training::Measure::none:
                break;
        }
        return "";
    }

    [[nodiscard]] std::string axis_text(double time) const {
        if (summary_.measure == training::Measure::step_s) {
            return fmt::format("{:.4g} s", time);
        }
        return time > 0 ? fmt::format("{:.4g}/s", 1 / time) : std::string{};
    }

    void draw_steps() {
        const auto skip = samples_.size() / most_points + 1;
        for (std::size_t i = 0; i < samples_.size(); i += skip) {
            const auto& sample = samples_[i];
            svg_.circle({x_of(static_cast<double>(sample.iteration)), y_of(sample.time)}, 2,
                        sample.time > high_ ? "slow" : "step",
                        fmt::format("iteration {}: {}", sample.iteration,
                                    speed_text(summary_.measure, sample.time)));
        }
    }

    void draw_levels() {
        for (const auto& level : summary_.levels) {
            const auto y = y_of(level.time);
            const std::array<Point, 2> ends{{{x_of(static_cast<double>(level.first)), y},
                                             {x_of(static_cast<double>(level.last)), y}}};
            svg_.line(ends, "level", speed_text(summary_.measure, level.time));
        }
        for (const auto& shift : summary_.shifts) {
            const auto x = x_of(static_cast<double>(shift.settled));
            const std::array<Point, 2> ends{{{x, plot.y}, {x, plot.bottom()}}};
            svg_.line(ends, "drop",
                      fmt::format("{:+.1f} % time from iteration {} on", shift.change() * 100,
                                  shift.settled));
        }
    }

    const TrainingLog& log_;
    const LogSummary& summary_;
    std::vector<Sample> samples_;
    double first_ = 0, last_ = 1, low_ = 0, high_ = 1;
    Svg svg_;
};

}  // namespace

std::string mfu_svg(const TrainingLog& log, const LogSummary& summary) {
    return Picture{log, summary}.draw();
}

}  // namespace railhead::report
