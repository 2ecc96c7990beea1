// The placement rule: as few leaves as the partition's nodes allow, for a priced wait; on a block
// fabric a segment, only where a model-parallel group is declared.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "placement";

std::string_view leaf_word(const Site& site, std::uint64_t count) {
    if (site.fabric.kind == fabric::Kind::block) {
        return count == 1 ? "block" : "blocks";
    }
    return count == 1 ? "leaf switch" : "leaf switches";
}

/// The priced wait, or the time that the user gave without a switch count (SBATCH_WAIT4SWITCH).
Wait wait_of(const Work& work) {
    const auto& settings = work.settings.placement;
    const auto& request = work.request;
    const auto most = work.site.max_switch_wait_s;
    auto wait = price_wait(settings, run_time_of(request, &work.partition.limits, settings), most);
    if (wait.wanted_s > 0 && request.switch_wait_s && !settings.override_user) {
        wait.price.from = PriceFrom::user;
        wait.wanted_s = *request.switch_wait_s;
        wait.in_force_s = std::min(wait.wanted_s, most);
    }
    return wait;
}

/// What Slurm takes off the policy's wait; empty when it keeps it.
std::string cut_text(const Wait& wait) {
    return wait.in_force_s == wait.wanted_s
               ? std::string{}
               : fmt::format(" (SchedulerParameters=max_switch_wait cuts it from {})",
                             duration_text(wait.wanted_s));
}

void write_switches(Work& work, std::uint32_t least) {
    const auto& request = work.request;
    const auto& settings = work.settings.placement;
    const auto mode = std::min(settings.mode, work.count_mode);
    if (request.switches && !settings.override_user) {
        work.say(rule, NoteKind::info,
                 fmt::format("your --switches={} is kept ({} would do)", *request.switches, least));
        return;
    }
    const auto wait = wait_of(work);
    work.out.seen.wait = wait;
    const auto fit = fmt::format("{} fit {} {}", count_of(work.nodes, "node"), least,
                                 leaf_word(work.site, least));
    if (wait.wanted_s == 0) {
        // Nothing is to be gained: a job that stock Slurm would start is not held, nor told more.
        work.say(rule, NoteKind::info,
                 fmt::format("{}: not waited for, since more would cost {}", fit,
                             wait.price.from == PriceFrom::wait ? "nothing by the policy"
                                                          : percent_text(wait.slowdown)));
        return;
    }
    const bool enforce = mode == Mode::enforce;
    work.say(rule, NoteKind::change,
             fmt::format("{}: {} up to {} for {}{}", fit, enforce ? "waits" : "would wait",
                         duration_text(wait.in_force_s), least == 1 ? "it" : "them", cut_text(wait)),
             mode);
    if (enforce) {
        work.out.changes.switches = least;
        if (!request.switch_wait_s || settings.override_user) {
            work.out.changes.switch_wait_s = wait.wanted_s;
        }
    }
}

void write_segment(Work& work) {
    const auto& request = work.request;
    const auto& settings = work.settings.placement;
    const auto group = request.model_parallel_group.value_or(settings.model_parallel_group);
    if (group < 2 || (request.segment && !settings.override_user) || !request.node_list.empty()) {
        return;
    }
    const auto segment = safe_segment(work.nodes, group, work.site.fabric.block_sizes);
    if (segment == 0) {
        work.say(rule, NoteKind::info,
                 fmt::format("no segment holds groups of {} without the risk of more blocks: "
                             "placed by Slurm alone",
                             count_of(group, "node")));
        return;
    }
    const auto mode = std::min(settings.mode, work.count_mode);
    const bool enforce = mode == Mode::enforce;
    work.say(rule, NoteKind::change,
             fmt::format("groups of {} {} together: --segment={}", count_of(group, "node"),
                         enforce ? "stay" : "would stay", segment),
             mode);
    if (enforce) {
        work.out.changes.segment = static_cast<std::uint16_t>(segment);
    }
}

/// How few leaves the job can have, of how many.
struct Span {
    std::uint32_t least = 0;  ///< 0: cannot be told
    std::uint32_t usable = 0;
};

/// Whether every GPU node of the partition will do, so that its ready table answers.
bool takes_any_node(const Work& work, const PartitionSite& partition) {
    const bool type_fits = work.demand.type.empty() || partition.gpu_type == work.demand.type;
    return work.request.constraint.empty() && work.request.exclude.empty() && !partition.mixed &&
           type_fits && !work.demand.several_types;
}

Span span_in(Work& work, const PartitionSite& partition) {
    if (partition.off_fabric || !work.request.reservation.empty()) {
        return {};
    }
    if (takes_any_node(work, partition)) {
        return {least_leaves(partition.spans, work.nodes), partition.used_leaves};
    }
    const auto* narrowing = narrowing_of(work, work.nodes);
    if (narrowing == nullptr) {
        return {};
    }
    const auto sizes = leaf_sizes_of(work, partition, usable_nodes(work, partition, *narrowing));
    const auto usable = std::ranges::count_if(sizes, [](auto size) { return size > 0; });
    return {least_leaves(span_tables(work.site, sizes), work.nodes),
            static_cast<std::uint32_t>(usable)};
}

/// Partitions named together can differ: the largest minimum of all holds on each.
Span span_of(Work& work) {
    Span span;
    const bool known = on_each_partition(work, [&](const PartitionSite& partition) {
        const auto one = span_in(work, partition);
        span = {std::max(span.least, one.least), std::max(span.usable, one.usable)};
        return one.least > 0;
    });
    return known ? span : Span{};
}

}  // namespace

std::uint32_t safe_segment(std::uint32_t nodes, std::uint32_t group,
                           const std::vector<std::uint32_t>& block_sizes) {
    if (block_sizes.empty() || group == 0 || nodes % group != 0) {
        return 0;
    }
    const auto base = block_sizes.front();
    const auto floor = std::max(group, (base + 1) / 2);
    for (std::uint32_t segment = std::min(base, nodes) / group * group; segment >= floor;
         segment -= group) {
        // At worst every segment lands in a block of its own, at each level of blocks.
        const bool safe = nodes % segment == 0 && std::ranges::all_of(block_sizes, [&](auto size) {
            return nodes / segment <= (nodes + size - 1) / size;
        });
        if (safe) {
            return segment;
        }
    }
    return 0;
}

void apply_placement_rule(Work& work) {
    const auto& site = work.site;
    if (site.fabric.kind == fabric::Kind::none || !work.demand.any() || work.nodes < 2) {
        return;
    }
    if (!work.request.node_list.empty()) {
        work.say(rule, NoteKind::info, "your -w places the job");
        return;
    }
    const auto span = span_of(work);
    if (span.least == 0) {
        work.say(rule, NoteKind::info,
                 "placed by Slurm alone: which leaves the job may use cannot be told from it");
        return;
    }
    work.out.seen.least_leaves = span.least;
    work.out.seen.leaves = span.usable;
    if (site.fabric.kind == fabric::Kind::block) {
        write_segment(work);
    } else if (span.least < span.usable) {  // else no placement could be wider
        write_switches(work, span.least);
    }
}

}  // namespace railhead::policy
