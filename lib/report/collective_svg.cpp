#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/collective.hpp"
#include "report/quantity_text.hpp"
#include "report/svg.hpp"

namespace railhead::report {

namespace {

using fabric::Algorithm;
using fabric::CollectiveAnswer;
using fabric::Prediction;

constexpr double width = 720;
constexpr Box plot{64, 64, 632, 280};
constexpr double row_height = 20;
constexpr double giga = 1e9;

/// Hues that colour-blind eyes tell apart; one for each algorithm, and one for what was measured.
constexpr std::string_view style = R"(text{font:12px system-ui,sans-serif;fill:#1f2937}
.c{text-anchor:middle}.e{text-anchor:end}.s{font-size:10px;fill:#4b5563}.h{font-size:15px;font-weight:600}
.page{fill:#fff}.plot{fill:#f8fafc;stroke:#cbd5e1}.grid{fill:none;stroke:#e2e8f0}
.curve{fill:none;stroke-width:3}.a0{stroke:#009e73}.a1{stroke:#0072b2}.a2{stroke:#cc79a7}.a3{stroke:#a16207}.a4{stroke:#e69f00}.a5{stroke:#d55e00}.a6{stroke:#56b4e9}.a7{stroke:#475569}
.dot{fill:#fff;stroke:#dc2626;stroke-width:2}.ceiling{fill:none;stroke:#64748b;stroke-width:1.5;stroke-dasharray:4 3}.at{fill:none;stroke:#64748b;stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}.page{fill:#0f172a}.plot{fill:#131d33;stroke:#334155}.grid{stroke:#25324a}
.a0{stroke:#2fc79a}.a1{stroke:#4da3dc}.a7{stroke:#94a3b8}.dot{fill:#0f172a;stroke:#f87171}.ceiling,.at{stroke:#94a3b8}}
)";

std::string algorithm_class(Algorithm algorithm) {
    return fmt::format("curve a{}", static_cast<int>(algorithm));
}

class Picture {
 public:
    explicit Picture(const CollectiveAnswer& answer) : answer_{answer} {
        double most = answer.ceiling ? answer.ceiling->busbw_gb_per_s : 0;
        for (const auto& point : answer.curve) {
            most = std::max(most, point.busbw_bytes_per_s / giga);
        }
        for (const auto& one : answer.compared) {
            most = std::max(most, one.measured.busbw_gb_per_s);
        }
        constexpr double room = 1.05;
        constexpr int lines = 5;
        const auto step = most * room / lines;
        const auto power = std::pow(10, std::floor(std::log10(step)));
        step_ = std::ceil(step / power) * power;
        top_ = step_ * lines;
    }

    std::string draw() {
        const auto title =
            fmt::format("Bus bandwidth of {}, {} ranks", name_of(answer_.model.collective()),
                        answer_.model.system().ranks());
        const auto legend = keys();
        constexpr double margin = 24;
        const auto legend_y = plot.bottom() + 62;
        const auto height = legend_y + row_height * static_cast<double>(legend - 1) + margin;
        svg_.rect({0, 0, width, height}, "page");
        svg_.text(plot.x, 26, "h", title);
        svg_.text(plot.x, 46, "s",
                  "GB/s over the size of the message, by the algorithm that NCCL takes");
        svg_.rect(plot, "plot");
        draw_axes();
        draw_ceiling();
        draw_curve();
        draw_measured();
        draw_legend(legend_y);
        return svg_.file(width, height, title, style);
    }

 private:
    [[nodiscard]] double x_of(double bytes) const {
        const auto from = answer_.curve.front().bytes;
        const auto to = answer_.curve.back().bytes;
        return plot.x + plot.width * std::log2(bytes / from) / std::log2(to / from);
    }
    [[nodiscard]] double y_of(double gigabytes) const {
        return plot.bottom() - plot.height * gigabytes / top_;
    }
    [[nodiscard]] bool is_within(double bytes) const {
        return bytes >= answer_.curve.front().bytes && bytes <= answer_.curve.back().bytes;
    }

    [[nodiscard]] std::vector<Algorithm> algorithms() const {
        std::vector<Algorithm> seen;
        for (const auto& point : answer_.curve) {
            if (std::ranges::find(seen, point.algorithm) == seen.end()) {
                seen.push_back(point.algorithm);
            }
        }
        return seen;
    }
    [[nodiscard]] std::size_t keys() const {
        return algorithms().size() + (answer_.ceiling ? 1 : 0) + (answer_.compared.empty() ? 0 : 1);
    }

    void draw_axes() {
        for (auto value = 0.0; value <= top_ * 1.001; value += step_) {
            const std::array<Point, 2> ends{{{plot.x, y_of(value)}, {plot.right(), y_of(value)}}};
            svg_.line(ends, "grid");
            svg_.text(plot.x - 8, y_of(value) + 4, "e s", fmt::format("{:g}", value));
        }
        constexpr double every = 16;
        for (auto bytes = answer_.curve.front().bytes; is_within(bytes); bytes *= every) {
            const std::array<Point, 2> ends{{{x_of(bytes), plot.y}, {x_of(bytes), plot.bottom()}}};
            svg_.line(ends, "grid");
            svg_.text(x_of(bytes), plot.bottom() + 16, "c s", binary_bytes_text(bytes));
        }
        svg_.text(plot.middle(), plot.bottom() + 34, "c s", "size");
        if (is_within(answer_.bytes)) {
            const auto x = x_of(answer_.bytes);
            const std::array<Point, 2> ends{{{x, plot.y}, {x, plot.bottom()}}};
            svg_.line(ends, "at", tip_of(answer_.at_bytes));
        }
    }

    static std::string tip_of(const Prediction& point) {
        constexpr double micro = 1e-6;
        return fmt::format("{}: {}, {:.1f} GB/s, {} with {}", binary_bytes_text(point.bytes),
                           short_time_text(point.time_us * micro), point.busbw_bytes_per_s / giga,
                           name_of(point.algorithm), name_of(point.protocol));
    }

    void draw_ceiling() {
        if (!answer_.ceiling) {
            return;
        }
        const auto y = y_of(answer_.ceiling->busbw_gb_per_s);
        const std::array<Point, 2> ends{{{plot.x, y}, {plot.right(), y}}};
        svg_.line(ends, "ceiling");
    }

    /// A stretch for each run of one algorithm, joined to the next.
    void draw_curve() {
        std::vector<Point> run;
        for (std::size_t i = 0; i < answer_.curve.size(); ++i) {
            const auto& point = answer_.curve[i];
            run.push_back({x_of(point.bytes), y_of(point.busbw_bytes_per_s / giga)});
            const bool is_last = i + 1 == answer_.curve.size();
            if (is_last || answer_.curve[i + 1].algorithm != point.algorithm) {
                if (!is_last) {
                    const auto& next = answer_.curve[i + 1];
                    run.push_back({x_of(next.bytes), y_of(next.busbw_bytes_per_s / giga)});
                }
                svg_.line(run, algorithm_class(point.algorithm), tip_of(point));
                run.clear();
            }
        }
    }

    void draw_measured() {
        for (const auto& one : answer_.compared) {
            if (is_within(one.measured.bytes)) {
                svg_.circle(
                    {x_of(one.measured.bytes), y_of(one.measured.busbw_gb_per_s)}, 3.5, "dot",
                    fmt::format("{}: {:.1f} GB/s measured", binary_bytes_text(one.measured.bytes),
                                one.measured.busbw_gb_per_s));
            }
        }
    }

    void draw_legend(double y) {
        constexpr double text_x = plot.x + 38;
        for (const auto algorithm : algorithms()) {
            draw_key(y, algorithm_class(algorithm));
            svg_.text(text_x, y, "", name_of(algorithm));
            y += row_height;
        }
        if (answer_.ceiling) {
            draw_key(y, "ceiling");
            svg_.text(text_x, y, "",
                      fmt::format("NVIDIA's figure for {}", answer_.ceiling->configuration));
            y += row_height;
        }
        if (!answer_.compared.empty()) {
            svg_.circle({plot.x + 14, y - 4}, 3.5, "dot");
            svg_.text(text_x, y, "", "measured");
        }
    }

    void draw_key(double y, std::string_view classes) {
        const std::array<Point, 2> key{{{plot.x, y - 4}, {plot.x + 28, y - 4}}};
        svg_.line(key, classes);
    }

    const CollectiveAnswer& answer_;
    double step_ = 0;
    double top_ = 1;
    Svg svg_;
};

}  // namespace

std::string collective_svg(const CollectiveAnswer& answer) {
    return Picture{answer}.draw();
}

}  // namespace railhead::report
