#include "report/fabric_picture.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/svg.hpp"
#include "report/table.hpp"

namespace railhead::report {

namespace {

constexpr std::size_t most_units = 96;  // of a row: each is some pixels wide then
constexpr double margin = 24;
constexpr double room = 1000;  // for a row
constexpr double gap = 4;
constexpr double widest = 240;
constexpr double box_height = 40;
constexpr double row_height = 96;
constexpr double top = 96;  // of the first row
constexpr double letter = 6.4;

/// Hues that colour-blind eyes tell apart, a row each.
constexpr std::string_view style = R"(text{font:12px system-ui,sans-serif;fill:#1f2937}
.c{text-anchor:middle}.b{font-weight:600}.s{font-size:10px;fill:#4b5563}.h{font-size:15px;font-weight:600}
.l{font-size:10px;fill:#4b5563;paint-order:stroke;stroke:#fff;stroke-width:5px}
.page{fill:#fff}.box{fill:#f8fafc;stroke-width:1.5}.link{fill:none;stroke:#94a3b8}
.t0{stroke:#0072b2}.t1{stroke:#e69f00}.t2{stroke:#009e73}.t3{stroke:#cc79a7}
@media (prefers-color-scheme:dark){text{fill:#e5e7eb}.s{fill:#9ca3af}.l{fill:#9ca3af;stroke:#0f172a}.page{fill:#0f172a}.box{fill:#1e293b}.link{stroke:#64748b}
.t0{stroke:#4da3dc}.t2{stroke:#2fc79a}}
)";

class Picture {
 public:
    explicit Picture(std::vector<PictureRow> rows) : rows_{std::move(rows)} {}

    std::string draw(std::string_view title, std::string_view facts) {
        leave_out();
        lay_out();
        const auto height = top + row_height * static_cast<double>(rows_.size()) - 16;
        svg_.rect({0, 0, room + 2 * margin, height}, "page");
        svg_.text(margin, 28, "h", title);
        svg_.text(margin, 48, "s", facts);
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            draw_links(row);
        }
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            draw_row(row);
        }
        return svg_.file(room + 2 * margin, height, title, style);
    }

 private:
    void leave_out() {
        while (rows_.size() > 1 && rows_.back().units.size() > most_units) {
            const auto below = rows_.back().label;
            rows_.pop_back();
            rows_.back().label += fmt::format("; not drawn: {}", below);
        }
        if (!rows_.empty() && rows_.back().units.size() > most_units) {
            auto& last = rows_.back();
            const auto more = last.units.size() - most_units;
            last.units.resize(most_units);
            last.label += fmt::format("; not drawn: {} more", more);
        }
    }

    /// Slots go to what has nothing below it, from left to right; the others span theirs.
    void lay_out() {
        boxes_.resize(rows_.size());
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            boxes_[row].resize(rows_[row].units.size());
        }
        std::size_t slots = 0;
        for (std::size_t i = 0; !rows_.empty() && i < rows_[0].units.size(); ++i) {
            slots = place(0, i, slots);
        }
        const auto slot =
            std::min(widest, room / static_cast<double>(std::max<std::size_t>(slots, 1)));
        for (auto& row : boxes_) {
            for (auto& box : row) {
                box.x = margin + box.x * slot;
                box.width = box.width * slot - std::min(gap, slot / 4);
            }
        }
    }

    /// Places a unit and what hangs below it first, from `slot` on; gives the next free slot.
    std::size_t place(std::size_t row, std::size_t unit, std::size_t slot) {
        const auto first = slot;
        if (row + 1 < rows_.size()) {
            const auto& below = rows_[row + 1].units;
            for (std::size_t i = 0; i < below.size(); ++i) {
                if (!below[i].parents.empty() && below[i].parents.front() == unit) {
                    slot = place(row + 1, i, slot);
                }
            }
        }
        slot = std::max(slot, first + 1);
        boxes_[row][unit] = {static_cast<double>(first),
                             top + row_height * static_cast<double>(row),
                             static_cast<double>(slot - first), box_height};
        return slot;
    }

    void draw_links(std::size_t row) {
        for (std::size_t i = 0; i < rows_[row].units.size(); ++i) {
            const auto& parents = rows_[row].units[i].parents;
            const auto& box = boxes_[row][i];
            for (const auto parent : parents) {
                const auto& above = boxes_[row - 1][parent];
                if (parent == parents.front()) {
                    const std::array<Point, 2> ends{
                        {{box.middle(), above.bottom()}, {box.middle(), box.y}}};
                    svg_.line(ends, "link");
                } else {
                    svg_.curve(above.middle(), above.bottom(), box.middle(), box.y, "link");
                }
            }
        }
    }

    void draw_row(std::size_t row) {
        const auto y = top + row_height * static_cast<double>(row);
        svg_.text(margin, y - 8, "l", rows_[row].label);
        for (std::size_t i = 0; i < rows_[row].units.size(); ++i) {
            const auto& unit = rows_[row].units[i];
            const auto& box = boxes_[row][i];
            svg_.rect(box, fmt::format("box t{}", std::min<std::size_t>(row, 3)),
                      unit.detail.empty() ? unit.name : unit.name + ": " + unit.detail);
            draw_text(box, unit);
        }
    }

    /// What does not fit into the box is left to the pointer.
    void draw_text(const Box& box, const PictureUnit& unit) {
        const auto fits = [&](std::string_view text) {
            return letter * static_cast<double>(columns(text)) < box.width - gap;
        };
        if (!fits(unit.name)) {
            return;
        }
        const bool both = !unit.detail.empty() && fits(unit.detail);
        svg_.text(box.middle(), box.y + (both ? 17 : 24), "c b", unit.name);
        if (both) {
            svg_.text(box.middle(), box.y + 32, "c s", unit.detail);
        }
    }

    std::vector<PictureRow> rows_;
    std::vector<std::vector<Box>> boxes_;
    Svg svg_;
};

}  // namespace

std::string fabric_picture(std::string_view title, std::string_view facts,
                           std::vector<PictureRow> rows) {
    return Picture{std::move(rows)}.draw(title, facts);
}

}  // namespace railhead::report
