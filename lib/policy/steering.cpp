// The steering rule: a job smaller than a leaf prefers the leaves that the site sets aside for
// small jobs, so that large ones find whole leaves.
//
// --prefer is no soft wish at submission: where the nodes that it names cannot hold the job, Slurm
// refuses it; and while it is tried it stands in for the job's own constraint.  So it is written
// only where every partition has enough such nodes for the job, and with the constraint in it.
// Nor is it soft for an array: seen on 22.05.8, its tasks wait until preferred nodes are free.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "steering";

/// The node count in force, or 1 for a job that leaves it open and whose GPUs fit a node; 0 when
/// neither can be told.
std::uint32_t known_nodes(const Work& work) {
    if (work.nodes > 0) {
        return work.nodes;
    }
    const auto gpus = std::max(work.demand.total, work.demand.per_node);
    return !work.request.min_nodes && gpus <= work.gpus_per_node ? 1 : 0;
}

/// Whether the job is smaller than every leaf of the partition, and the nodes set aside, as far as
/// it may use them, hold it within one leaf.
bool holds(Work& work, const PartitionSite& partition, std::uint32_t nodes) {
    const auto& feature = work.settings.placement.set_aside;
    if (nodes >= partition.smallest_leaf) {
        return false;
    }
    const auto* narrowing = narrowing_of(work, nodes);
    if (narrowing == nullptr || !why_not(work, partition, nodes, narrowing->gpus).empty()) {
        return false;
    }
    const auto set = usable_nodes(work, partition, *narrowing, feature);
    if (nodes == 1) {
        return set.count() > 0;
    }
    return std::ranges::any_of(leaf_sizes_of(work, partition, set),
                               [nodes](auto size) { return size >= nodes; });
}

/// "h100&small": what the job itself asks for must still hold.
std::string preference(const Work& work) {
    std::string text;
    for (const auto feature : work.narrowing->features) {
        text.append(feature).append("&");
    }
    return text + work.settings.placement.set_aside;
}

bool asks_for(const Work& work, std::string_view feature) {
    return std::ranges::find(work.narrowing->features, feature) != work.narrowing->features.end();
}

}  // namespace

void apply_steering_rule(Work& work) {
    const auto& request = work.request;
    const auto& settings = work.settings.placement;
    // With -w or a reservation the user, or the reservation, has said where; nodes in a row may not
    // be had among those set aside; the tasks of an array wait for them while others are free.
    if (settings.set_aside.empty() || !request.node_list.empty() || !request.reservation.empty() ||
        request.contiguous || request.array) {
        return;
    }
    const auto nodes = known_nodes(work);
    if (nodes == 0 || work.gpus_per_node == 0 || work.demand.unreadable) {
        return;
    }
    if (!request.prefer.empty()) {
        work.say(rule, NoteKind::info, "your --prefer is kept");
        return;
    }
    const bool held = on_each_partition(
        work, [&](const PartitionSite& partition) { return holds(work, partition, nodes); });
    if (!held || asks_for(work, settings.set_aside)) {
        return;
    }
    const auto mode = std::min(settings.mode, work.count_mode);
    const bool enforce = mode == Mode::enforce;
    work.say(rule, NoteKind::quiet,
             fmt::format("{} nodes with feature \"{}\", set aside for jobs smaller than a leaf",
                         enforce ? "prefers" : "would prefer", settings.set_aside),
             mode);
    if (enforce) {
        work.out.changes.prefer = preference(work);
    }
}

}  // namespace railhead::policy
