#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/checkpoint.hpp"
#include "report/quantity_text.hpp"
#include "report/svg.hpp"

namespace railhead::report {

namespace {

using checkpoint::Recommendation;

constexpr double width = 720;
constexpr Box plot{64, 64, 632, 260};
constexpr double row_height = 20;
constexpr std::size_t points = 257;
constexpr std::string_view chosen_class = "m3";

/// Hues that colour-blind eyes tell apart; red is kept for an interval that costs too much.
constexpr std::string_view style = R"(text{font:12px system-ui,sans-serif;fill:#1f2937}
.c{text-anchor:middle}.e{text-anchor:end}.s{font-size:10px;fill:#4b5563}.h{font-size:15px;font-weight:600}.b{font-weight:600}
.page{fill:#fff}.plot{fill:#f8fafc;stroke:#cbd5e1}.grid{fill:none;stroke:#e2e8f0}.curve{fill:none;stroke:#475569;stroke-width:2.5}
.mark{fill:none;stroke-width:1.5;stroke-dasharray:4 3}.m0{stroke:#0072b2}.m1{stroke:#e69f00}.m2{stroke:#cc79a7}.m3{stroke:#009e73;stroke-width:2.5;stroke-dasharray:none}.m4{stroke:#dc2626}
.dot{fill:#fff;stroke-width:2.5}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}.page{fill:#0f172a}.plot{fill:#131d33;stroke:#334155}.grid{stroke:#25324a}
.curve{stroke:#94a3b8}.dot{fill:#0f172a}.m0{stroke:#4da3dc}.m3{stroke:#2fc79a}.m4{stroke:#f87171}}
)";

struct Tick {
    double time_s;
    std::string_view label;
};
constexpr Tick ticks[] = {{1e-3, "1 ms"},
                          {1e-2, "10 ms"},
                          {0.1, "100 ms"},
                          {1, "1 s"},
                          {5, "5 s"},
                          {15, "15 s"},
                          {60, "1 min"},
                          {300, "5 min"},
                          {900, "15 min"},
                          {1800, "30 min"},
                          {3600, "1 h"},
                          {7200, "2 h"},
                          {14400, "4 h"},
                          {28800, "8 h"},
                          {86400, "1 d"},
                          {3 * 86400, "3 d"},
                          {604800, "7 d"},
                          {30 * 86400, "30 d"},
                          {31557600, "1 year"},
                          {3155760e2, "10 years"},
                          {3155760e3, "100 years"}};

/// An interval worth a line of its own.
struct Mark {
    std::string_view name;
    double interval_s = 0;
    double waste = 0;
    std::string_view classes;
};

std::vector<Mark> marks_of(const Recommendation& about) {
    std::vector<Mark> marks;
    const auto add = [&](std::string_view name, double interval_s, std::string_view classes) {
        marks.push_back(
            {name, interval_s, checkpoint::shares_of(about.timing, interval_s).waste(), classes});
    };
    add("Young 1974", about.young_s, "m0");
    add("Daly 2006", about.daly_s, "m1");
    add("exact optimum", about.optimum_s, "m2");
    add("chosen", about.chosen.interval_s, chosen_class);
    if (about.own) {
        add("yours", about.own->interval_s, "m4");
    }
    return marks;
}

/// The least of 1, 2 and 5 times a power of ten that is no less than `value`.
double round_up(double value) {
    const auto power = std::pow(10, std::floor(std::log10(value)));
    for (const auto step : {1.0, 2.0, 5.0}) {
        if (step * power >= value) {
            return step * power;
        }
    }
    return 10 * power;
}

class Curve {
 public:
    explicit Curve(const Recommendation& about) : about_{about}, marks_{marks_of(about)} {
        constexpr double room = 16;  // times the optimum to each side
        from_s_ = about.optimum_s / room;
        to_s_ = about.optimum_s * room;
        double worst = 0;
        double least = 1;
        for (const auto& mark : marks_) {
            from_s_ = std::min(from_s_, mark.interval_s / 2);
            to_s_ = std::max(to_s_, mark.interval_s * 2);
            worst = std::max(worst, mark.waste);
            least = std::min(least, mark.waste);
        }
        constexpr double valley = 3;  // of its depth is seen on either side
        top_ = std::min(1.0, round_up(std::max(valley * least, worst * 1.05)));
    }

    std::string draw() {
        constexpr double margin = 24;
        const auto legend_y = plot.bottom() + 62;
        const auto height = legend_y + row_height * static_cast<double>(marks_.size() - 1) + margin;
        svg_.rect({0, 0, width, height}, "page");
        svg_.text(plot.x, 26, "h", "What a checkpoint interval costs");
        svg_.text(plot.x, 46, "s", facts());
        svg_.rect(plot, "plot");
        draw_waste_axis();
        draw_time_axis();
        draw_curve();
        draw_marks(legend_y);
        return svg_.file(width, height, "What a checkpoint interval costs", style);
    }

 private:
    [[nodiscard]] double x_of(double interval_s) const {
        return plot.x + plot.width * std::log(interval_s / from_s_) / std::log(to_s_ / from_s_);
    }
    [[nodiscard]] double y_of(double waste) const {
        return plot.bottom() - plot.height * waste / top_;
    }

    [[nodiscard]] std::string facts() const {
        return fmt::format(
            "Checkpoint {}, MTBF {}, restart {}. Share of the time that is lost, over "
            "the work between two checkpoints.",
            time_text(about_.timing.cost_s()), time_text(about_.timing.mtbf_s()),
            time_text(about_.timing.restart_s()));
    }

    void draw_waste_axis() {
        constexpr int steps = 5;
        for (int i = 0; i <= steps; ++i) {
            const auto waste = top_ * i / steps;
            const auto y = y_of(waste);
            const std::array<Point, 2> ends{{{plot.x, y}, {plot.right(), y}}};
            svg_.line(ends, "grid");
            svg_.text(plot.x - 8, y + 4, "e s", share_text(waste));
        }
    }

    void draw_time_axis() {
        double last = -100;
        for (const auto& [tick_s, label] : ticks) {
            if (tick_s < from_s_ || tick_s > to_s_) {
                continue;
            }
            const auto x = x_of(tick_s);
            const std::array<Point, 2> ends{{{x, plot.y}, {x, plot.bottom()}}};
            svg_.line(ends, "grid");
            constexpr double apart = 52;
            if (x - last >= apart) {
                svg_.text(x, plot.bottom() + 16, "c s", label);
                last = x;
            }
        }
        svg_.text(plot.middle(), plot.bottom() + 34, "c s", "interval");
    }

    void draw_curve() {
        std::vector<Point> line;
        for (const auto& point : checkpoint::cost_curve(about_.timing, from_s_, to_s_, points)) {
            if (point.waste <= top_) {
                line.push_back({x_of(point.interval_s), y_of(point.waste)});
            }
        }
        svg_.line(line, "curve");
    }

    /// The chosen one, which is thick, below those that all but coincide with it.
    void draw_marks(double legend_y) {
        for (const bool chosen : {true, false}) {
            for (const auto& mark : marks_) {
                if ((mark.classes == chosen_class) == chosen) {
                    draw_mark(mark);
                }
            }
        }
        for (const auto& mark : marks_) {
            draw_key(mark, legend_y);
            legend_y += row_height;
        }
    }

    void draw_mark(const Mark& mark) {
        const auto x = x_of(mark.interval_s);
        const auto tip = fmt::format("{}: {}, {} lost", mark.name, time_text(mark.interval_s),
                                     share_text(mark.waste));
        const std::array<Point, 2> ends{{{x, plot.y}, {x, plot.bottom()}}};
        svg_.line(ends, fmt::format("mark {}", mark.classes), tip);
        svg_.circle({x, y_of(mark.waste)}, 4, fmt::format("dot {}", mark.classes), tip);
    }

    void draw_key(const Mark& mark, double y) {
        const std::array<Point, 2> key{{{plot.x, y - 4}, {plot.x + 28, y - 4}}};
        svg_.line(key, fmt::format("mark {}", mark.classes));
        svg_.text(plot.x + 38, y, mark.classes == chosen_class ? "b" : "", mark.name);
        svg_.text(plot.x + 240, y, "e", time_text(mark.interval_s));
        svg_.text(plot.x + 320, y, "e", share_text(mark.waste));
    }

    const Recommendation& about_;
    std::vector<Mark> marks_;
    double from_s_ = 0;
    double to_s_ = 0;
    double top_ = 1;
    Svg svg_;
};

}  // namespace

std::string checkpoint_svg(const Recommendation& recommendation) {
    return Curve{recommendation}.draw();
}

}  // namespace railhead::report
