#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/fabric_picture.hpp"
#include "report/fabric_plan.hpp"
#include "report/fabric_show.hpp"
#include "report/quantity_text.hpp"

namespace railhead::report {

namespace {

using fabric::Fabric;

struct Spot {
    std::size_t row = 0, unit = 0;
};

PictureUnit unit_of(const fabric::Switch& s, std::vector<std::size_t> parents) {
    return {s.name, grouped_count(s.nodes.size(), "node"), std::move(parents)};
}

/// A row for each step down from the roots.
std::vector<PictureRow> tree_rows(const Fabric& fabric) {
    std::vector<PictureRow> rows;
    std::vector<std::optional<Spot>> spots(fabric.switches.size());
    auto row = fabric.roots();
    for (std::size_t i = 0; i < row.size(); ++i) {
        spots[row[i]] = Spot{0, i};
    }
    std::vector<PictureUnit> units;
    for (const auto i : row) {
        units.push_back(unit_of(fabric.switches[i], {}));
    }
    while (!row.empty()) {
        rows.push_back({grouped_count(row.size(), "switch"), std::exchange(units, {})});
        std::vector<std::uint32_t> next;
        for (std::size_t parent = 0; parent < row.size(); ++parent) {
            for (const auto child : fabric.switches[row[parent]].children) {
                if (!spots[child]) {
                    spots[child] = Spot{rows.size(), next.size()};
                    next.push_back(child);
                    units.push_back(unit_of(fabric.switches[child], {parent}));
                } else if (spots[child]->row == rows.size()) {
                    units[spots[child]->unit].parents.push_back(parent);
                }
            }
        }
        row = std::move(next);
    }
    return rows;
}

std::vector<PictureRow> block_rows(const Fabric& fabric) {
    PictureRow row{grouped_count(fabric.blocks.size(), "block"), {}};
    for (const auto& block : fabric.blocks) {
        row.units.push_back({block.name, grouped_count(block.nodes.size(), "node"), {}});
    }
    return {std::move(row)};
}

}  // namespace

std::string fabric_show_svg(const ShownFabric& shown, std::string_view file) {
    const auto& [fabric, outline] = shown;
    auto rows = fabric.kind == fabric::Kind::tree    ? tree_rows(fabric)
                : fabric.kind == fabric::Kind::block ? block_rows(fabric)
                                                     : std::vector<PictureRow>{};
    auto facts =
        fmt::format("{}, {}", to_string(fabric.kind), grouped_count(outline.nodes, "node"));
    if (outline.gpus) {
        facts += ", " + grouped_count(*outline.gpus, "GPU");
    }
    // Of a file only the name: a picture is passed on.
    const auto name = file.substr(file.rfind('/') + 1);
    return fabric_picture(
        fmt::format("Fabric of {}{}", name, fabric.name.empty() ? "" : ": " + fabric.name), facts,
        std::move(rows));
}

}  // namespace railhead::report
