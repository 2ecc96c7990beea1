#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "fabric/plan_files.hpp"
#include "report/fabric_picture.hpp"
#include "report/fabric_plan.hpp"
#include "report/quantity_text.hpp"

namespace railhead::report {

namespace {

using fabric::Plan;
using fabric::PlannedLevel;

/// Of a level: what it is made of.
std::string level_label(const Plan& plan, const PlannedLevel& level) {
    const auto of = [&](std::string_view what) {
        return fmt::format("{} of {}", grouped_count(level.count, what),
                           count_of(level.nodes, "node"));
    };
    if (level.word == "core") {
        return fmt::format("{}: {} between each spine and its cores",
                           grouped_count(plan.cores, "core switch"),
                           count_of(plan.spine_core_pair, "link"));
    }
    if (level.word == "pod") {
        return fmt::format("{}, {}; {} between each leaf and spine", of("pod"),
                           grouped_count(plan.spines, "spine switch"),
                           count_of(plan.leaf_spine_pair, "link"));
    }
    if (level.word == "spine") {
        return fmt::format("{}: {} between each leaf and spine",
                           grouped_count(plan.spines, "spine switch"),
                           count_of(plan.leaf_spine_pair, "link"));
    }
    if (level.word == "nvl") {
        return of("NVLink domain");
    }
    auto text = of("unit");
    if (plan.tiers > 1) {
        text +=
            fmt::format(", {}; of each leaf {} go up", grouped_count(plan.leaves, "leaf switch"),
                        count_of(plan.leaf_up, "port"));
    }
    return text;
}

std::string unit_detail(const Plan& plan, const PlannedLevel& level, std::uint32_t i) {
    const auto first = i * level.nodes;
    const auto nodes = std::min<std::uint64_t>(level.nodes, plan.nodes - first);
    if (level.word == "core" || level.word == "spine") {
        return grouped_count(plan.nodes, "node");
    }
    auto text = count_of(nodes, "node");
    if (level.word == "pod") {
        text += fmt::format(", {}", count_of(plan.spines / plan.pods, "spine"));
    } else if (level.word == "su") {
        text += fmt::format(
            ", {}", plan.unit_leaves == 1 ? "1 leaf" : fmt::format("{} leaves", plan.unit_leaves));
    }
    return text;
}

}  // namespace

std::string fabric_plan_svg(const Plan& plan) {
    const auto levels = planned_levels(plan);
    std::vector<PictureRow> rows;
    for (auto n = levels.size(); n-- > 0;) {
        const auto& level = levels[n];
        PictureRow row{level_label(plan, level), {}};
        for (std::uint32_t i = 0; i < level.count; ++i) {
            row.units.push_back({level.name(i), unit_detail(plan, level, i), {}});
            if (n + 1 < levels.size()) {
                row.units.back().parents = {
                    static_cast<std::size_t>(i * level.nodes / levels[n + 1].nodes)};
            }
        }
        rows.push_back(std::move(row));
    }
    const auto facts = fmt::format(
        "{}, {} of {} each; {} cables; oversubscription {:.3g}:1 at the leaves; bisection {}",
        grouped_count(plan.gpus(), "GPU"), count_of(plan.nics_per_node, "NIC"),
        speed_text(plan.nic_gbps), grouped(plan.cables()), plan.leaf_oversubscription,
        speed_text(plan.bisection_gbps));
    return fabric_picture(
        fmt::format("Fabric for {}: {}", grouped_count(plan.nodes, "node"), to_string(plan.design)),
        facts, std::move(rows));
}

}  // namespace railhead::report
