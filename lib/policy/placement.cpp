// The placement rule: as few leaves as the partition's nodes allow, for a priced wait; on a block
// fabric a segment, only where a model-parallel group is declared.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"
#include "policy/usable.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "placement";

/// The priced wait, or the time that the user gave without a switch count (SBATCH_WAIT4SWITCH).
Wait wait_of(const Work& work) {
    const auto& settings = work.settings.placement;
    const auto& request = work.request;
    const auto most = work.site.max_switch_wait_s;
    auto wait = price_wait(settings, run_time_of(request, &work.partition.limits, settings),
                           work.nodes < work.partition.smallest_leaf, most);
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
                                 fabric::level_word(fabric::Kind::tree, 0, least));
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

/// Whether every GPU node of the partition will do, so that its ready table answers.
bool takes_any_node(const Work& work, const PartitionSite& partition) {
    const bool type_fits = work.demand.type.empty() || partition.gpu_type == work.demand.type;
    const bool avoids = work.narrowing && !work.narrowing->excluded.empty();
    return work.request.constraint.empty() && !avoids && work.request.exclude.empty() && !partition.mixed &&
           type_fits && !work.demand.several_types;
}

/// How many nodes of each leaf the job may use; nothing when it cannot be told.
std::optional<std::vector<std::uint32_t>> leaf_sizes_for(Work& work, const PartitionSite& partition,
                                                         const FabricSite& fabric) {
    if (takes_any_node(work, partition)) {
        return partition.leaf_sizes;
    }
    const auto* narrowing = narrowing_of(work, work.nodes);
    return narrowing != nullptr
               ? std::optional{usable_leaf_sizes(work, partition, fabric, *narrowing)}
               : std::nullopt;
}

/// Whether every partition has room for the job in segments: -C, -x or lemons may leave no block
/// with a whole one, and Slurm would refuse the job.
bool can_start(Work& work, std::uint32_t segment) {
    return on_each_partition(work, [&](const PartitionSite& partition) {
        const auto* fabric = work.site.fabric_of(partition);
        const auto sizes = fabric != nullptr ? leaf_sizes_for(work, partition, *fabric) : std::nullopt;
        return sizes && segments_fit(*sizes, segment, work.nodes / segment);
    });
}

void write_segment(Work& work, const std::vector<std::uint32_t>& block_sizes) {
    const auto& request = work.request;
    const auto& settings = work.settings.placement;
    const auto group = request.model_parallel_group.value_or(settings.model_parallel_group);
    if (group < 2 || (request.segment && !settings.override_user) || !request.node_list.empty()) {
        return;
    }
    auto segment = safe_segment(work.nodes, group, block_sizes);
    while (segment > 0 && !can_start(work, segment)) {
        segment = safe_segment(work.nodes, group, block_sizes, segment - 1);
    }
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

/// How few switches the job can have, of how many, at each level.
struct Span {
    SeenLevel leaves;  ///< least is 0 where it cannot be told
    std::array<SeenLevel, 3> above;
    const FabricSite* fabric = nullptr;  ///< of the first partition
    bool several_fabrics = false;
};

Span span_at(const std::vector<LevelSpans>& spans, std::uint32_t nodes, const FabricSite& fabric) {
    Span span;
    span.fabric = &fabric;
    span.leaves = {0, spans.front().least(nodes), spans.front().used};
    for (std::size_t i = 0; i < span.above.size() && i + 1 < spans.size(); ++i) {
        const auto& level = spans[i + 1];
        span.above[i] = {level.level, level.least(nodes), level.used};
    }
    return span;
}

Span span_in(Work& work, const PartitionSite& partition) {
    const auto* fabric = work.site.fabric_of(partition);
    if (fabric == nullptr || !partition.off_fabric.empty() || !work.request.reservation.empty()) {
        return {};
    }
    if (takes_any_node(work, partition)) {
        return span_at(partition.spans, work.nodes, *fabric);
    }
    const auto sizes = leaf_sizes_for(work, partition, *fabric);
    return sizes ? span_at(spans_of(*fabric, *sizes), work.nodes, *fabric) : Span{};
}

/// Partitions named together can differ: the largest minimum of all holds on each.  Nothing where
/// one of them is on a fabric of another kind.  What lies above the leaves is told of one fabric
/// only.
bool widen(Span& span, const Span& other) {
    if (other.leaves.least == 0 || other.fabric->fabric.kind != span.fabric->fabric.kind) {
        return false;
    }
    span.several_fabrics = span.several_fabrics || span.fabric != other.fabric;
    span.leaves.least = std::max(span.leaves.least, other.leaves.least);
    span.leaves.usable = std::max(span.leaves.usable, other.leaves.usable);
    for (std::size_t i = 0; i < span.above.size(); ++i) {
        const auto& theirs = other.above[i];
        auto& level = span.above[i];
        level.least = span.several_fabrics ? 0 : std::max(level.least, theirs.least);
        level.usable = std::max(level.usable, theirs.usable);
    }
    return true;
}

/// Nothing (least 0) when it cannot be told for every partition that the job names.
Span span_of(Work& work) {
    std::optional<Span> span;
    const bool known = on_each_partition(work, [&](const PartitionSite& partition) {
        const auto one = span_in(work, partition);
        if (span) {
            return widen(*span, one);
        }
        span = one;
        return one.leaves.least > 0;
    });
    return known ? *span : Span{};
}

/// Says why the job is not placed.
void say_unplaced(Work& work) {
    const auto& partition = work.partition;
    const bool only_one = work.request.partition.find(',') == std::string_view::npos;
    const auto& leaves = partition.spans.front();
    if (only_one && partition.off_fabric.empty() && leaves.networks.size() > 1 &&
        leaves.capacity() < work.nodes) {
        work.say(rule, NoteKind::advice,
                 fmt::format("no network of the fabric has {} for this job, the largest has {}: "
                             "Slurm joins none",
                             count_of(work.nodes, "node"), leaves.capacity()));
        return;
    }
    work.say(rule, NoteKind::info,
             "placed by Slurm alone: which leaves the job may use cannot be told from it");
}

}  // namespace

std::uint32_t safe_segment(std::uint32_t nodes, std::uint32_t group,
                           const std::vector<std::uint32_t>& block_sizes, std::uint32_t most) {
    if (block_sizes.empty() || group == 0 || nodes % group != 0) {
        return 0;
    }
    const auto base = block_sizes.front();
    const auto floor = std::max(group, (base + 1) / 2);
    for (std::uint32_t segment = std::min({base, nodes, most}) / group * group; segment >= floor;
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

bool segments_fit(std::span<const std::uint32_t> usable, std::uint32_t segment,
                  std::uint32_t segments) {
    std::uint64_t room = 0;
    for (const auto nodes : usable) {
        room += nodes / segment;
    }
    return room >= segments;
}

void apply_placement_rule(Work& work) {
    const auto* fabric = work.site.fabric_of(work.partition);
    if (fabric == nullptr || !work.demand.any() || work.nodes < 2) {
        return;
    }
    if (!work.request.node_list.empty()) {
        work.say(rule, NoteKind::info, "your -w places the job");
        return;
    }
    const auto span = span_of(work);
    if (span.leaves.least == 0) {
        say_unplaced(work);
        return;
    }
    auto& seen = work.out.seen;
    seen.fabric = fabric->fabric.kind;
    seen.least_leaves = span.leaves.least;
    seen.leaves = span.leaves.usable;
    seen.above = span.above;
    if (seen.fabric == fabric::Kind::block) {
        write_segment(work, span.several_fabrics ? std::vector<std::uint32_t>{}
                                                 : fabric->fabric.block_sizes);
    } else if (span.leaves.least < span.leaves.usable) {  // else no placement could be wider
        write_switches(work, span.leaves.least);
    }
}

}  // namespace railhead::policy
