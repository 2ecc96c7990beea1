// The placement rule: as few leaves as the partition's nodes allow, for a priced wait; on a block
// fabric a segment, only where a model-parallel group is declared.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/hostlist.hpp"
#include "policy/rules.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "placement";

/// Under slurmctld's locks a user's words are not weighed beyond this: no real job has so many.
constexpr std::size_t most_features = 16;
constexpr int most_partitions = 16;

/// A constraint that is nothing but features joined by "&"; nothing when it is more than that.
std::optional<std::vector<std::string_view>> plain_features(std::string_view constraint) {
    if (constraint.find_first_of("|[]()*,!") != std::string_view::npos) {
        return std::nullopt;
    }
    std::vector<std::string_view> features;
    for (const auto part : split(constraint, '&')) {
        if (!trim(part).empty()) {
            features.push_back(trim(part));
        }
    }
    if (features.size() > most_features) {
        return std::nullopt;
    }
    return features;
}

/// The nodes of a host list, as indices of the cluster, sorted; unknown names are left out.
std::optional<std::vector<std::uint32_t>> indices_of(std::string_view list, const Site& site) {
    // Under slurmctld's locks: a user's list is not expanded beyond what the cluster has.
    const auto names = job::expand_hostlist(list, site.cluster.nodes.size());
    if (!names) {
        return std::nullopt;
    }
    std::vector<std::uint32_t> indices;
    for (const auto& name : *names) {
        if (const auto index = site.cluster.find_node(name)) {
            indices.push_back(*index);
        }
    }
    std::ranges::sort(indices);
    return indices;
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
    const bool enforce = mode == Mode::enforce;
    const auto wait_s = std::min(settings.wait_s, work.site.max_switch_wait_s);  // what Slurm keeps
    work.say(rule, NoteKind::change,
             fmt::format("{} fit {} {}: {} up to {} for {}", count_of(work.nodes, "node"), least,
                         fabric::level_word(fabric::Kind::tree, 0, least), enforce ? "waits" : "would wait",
                         duration_text(wait_s), least == 1 ? "it" : "them"),
             mode);
    if (enforce) {
        work.out.changes.switches = least;
        if (!request.switch_wait_s || settings.override_user) {
            work.out.changes.switch_wait_s = settings.wait_s;
        }
    }
}

void write_segment(Work& work, const std::vector<std::uint32_t>& block_sizes) {
    const auto& request = work.request;
    const auto& settings = work.settings.placement;
    const auto group = request.model_parallel_group.value_or(settings.model_parallel_group);
    if (group < 2 || (request.segment && !settings.override_user) || !request.node_list.empty()) {
        return;
    }
    const auto segment = safe_segment(work.nodes, group, block_sizes);
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

/// What narrows the nodes of a partition for this job, read once a review.
struct Narrowing {
    std::vector<std::string_view> features;  ///< -C
    std::vector<std::uint32_t> excluded;     ///< -x, sorted
    std::uint64_t gpus = 0;                  ///< a node must have, of the type asked for
};

/// Nothing when it cannot be told from the request.
std::optional<Narrowing> narrowing_of(const Work& work) {
    auto features = plain_features(work.request.constraint);
    auto excluded = indices_of(work.request.exclude, work.site);
    if (!features || !excluded || work.demand.several_types) {
        return std::nullopt;
    }
    const auto gpus = work.demand.per_node > 0 ? work.demand.per_node
                                               : (work.demand.total + work.nodes - 1) / work.nodes;
    return Narrowing{std::move(*features), std::move(*excluded), std::max<std::uint64_t>(1, gpus)};
}

/// The nodes of each leaf that the job may use: its partition's that have the GPUs, less -x,
/// within -C.
std::vector<std::uint32_t> usable_leaf_sizes(const Work& work, const PartitionSite& partition,
                                             const FabricSite& fabric,
                                             const Narrowing& narrowing) {
    std::vector<std::uint32_t> sizes(partition.leaf_sizes.size());
    for (const auto index : partition.gpu_nodes) {
        const auto& node = work.site.cluster.nodes[index];
        const bool fits =
            has_gpus(node, work.demand, narrowing.gpus) &&
            std::ranges::all_of(narrowing.features, [&](const auto feature) {
                return std::ranges::find(node.features, feature) != node.features.end();
            });
        if (fits && fabric.leaf_of[index] != FabricSite::no_leaf &&
            !std::ranges::binary_search(narrowing.excluded, index)) {
            ++sizes[fabric.leaf_of[index]];
        }
    }
    return sizes;
}

/// Whether every GPU node of the partition will do, so that its ready table answers.
bool takes_any_node(const Work& work, const PartitionSite& partition) {
    const bool type_fits = work.demand.type.empty() || partition.gpu_type == work.demand.type;
    return work.request.constraint.empty() && work.request.exclude.empty() && !partition.mixed &&
           type_fits && !work.demand.several_types;
}

Span span_in(const Work& work, const PartitionSite& partition,
             std::optional<Narrowing>& narrowing) {
    const auto* fabric = work.site.fabric_of(partition);
    if (fabric == nullptr || !partition.off_fabric.empty() || !work.request.reservation.empty()) {
        return {};
    }
    if (takes_any_node(work, partition)) {
        return span_at(partition.spans, work.nodes, *fabric);
    }
    if (!narrowing && !(narrowing = narrowing_of(work))) {
        return {};
    }
    const auto sizes = usable_leaf_sizes(work, partition, *fabric, *narrowing);
    return span_at(spans_of(*fabric, sizes), work.nodes, *fabric);
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
Span span_of(const Work& work) {
    std::optional<Narrowing> narrowing;
    auto names = work.request.partition;
    if (std::ranges::count(names, ',') >= most_partitions) {
        return {};
    }
    auto span = span_in(work, work.partition, narrowing);
    for (auto comma = names.find(','); comma != std::string_view::npos && span.leaves.least > 0;
         comma = names.find(',')) {
        names.remove_prefix(comma + 1);
        const auto* partition = work.site.find(trim(names.substr(0, names.find(','))));
        if (partition == nullptr || !widen(span, span_in(work, *partition, narrowing))) {
            return {};
        }
    }
    return span;
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
