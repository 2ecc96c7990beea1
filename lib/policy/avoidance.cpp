// The lemons rule: a gang is kept off the nodes of the lemons file, as -x would.
//
// A slow or failing node costs every node of a gang, more than a leaf too many does: so it is
// avoided even where the least span grows by it.  Never where the job would then have too few
// nodes, and never a name that slurm.conf does not have: Slurm would refuse the job.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.hpp"
#include "policy/rules.hpp"
#include "policy/usable.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view rule = "lemons";

bool is_in(const std::vector<std::uint32_t>& ascending, std::uint32_t node) {
    return std::ranges::binary_search(ascending, node);
}

/// The lemons at the time of submission that a partition of the job has and its -x does not.
std::vector<std::uint32_t> lemons_for(Work& work, const std::vector<std::uint32_t>& excluded) {
    std::vector<const PartitionSite*> partitions;
    static_cast<void>(on_each_partition(work, [&](const PartitionSite& partition) {
        partitions.push_back(&partition);
        return true;
    }));
    std::vector<std::uint32_t> found;
    for (const auto& lemon : work.site.lemons) {
        const bool holds = lemon.until_s > work.request.submitted_s && !is_in(excluded, lemon.node);
        if (holds && std::ranges::any_of(partitions, [&](const auto* partition) {
                return partition->gpu_set.contains(lemon.node);
            })) {
            found.push_back(lemon.node);
        }
    }
    return found;
}

/// "n3, n7 and 4 more"
std::string names_of(const Work& work, const std::vector<std::uint32_t>& nodes) {
    constexpr std::size_t shown = 4;
    std::string text;
    for (std::size_t i = 0; i < nodes.size() && i < shown; ++i) {
        text.append(text.empty() ? "" : ", ").append(work.site.cluster.nodes[nodes[i]].name);
    }
    return nodes.size() > shown ? fmt::format("{} and {} more", text, nodes.size() - shown) : text;
}

/// Takes what -w names out of `lemons`: the user has said that it is wanted.  All, where -w names
/// every node of the job.
void spare_named(Work& work, std::vector<std::uint32_t>& lemons) {
    const auto named = indices_of(work.request.node_list, work.site);
    if (!named) {
        lemons.clear();  // a list that cannot be read: Slurm will say so
        return;
    }
    std::vector<std::uint32_t> wanted;
    std::ranges::set_intersection(lemons, *named, std::back_inserter(wanted));
    std::erase_if(lemons, [&](auto node) { return is_in(wanted, node); });
    if (!wanted.empty()) {
        work.say(rule, NoteKind::advice,
                 fmt::format("your -w names {}, which this site avoids", names_of(work, wanted)),
                 work.settings.lemons.mode);
    }
    if (named->size() >= work.nodes) {
        lemons.clear();
    }
}

/// Why the job cannot do without `lemons` in one of its partitions; empty when it can.
std::string why_needed(Work& work, const std::vector<std::uint32_t>& lemons) {
    const auto* narrowing = narrowing_of(work, work.nodes);
    if (narrowing == nullptr) {
        return "which nodes the job may use cannot be told from it";
    }
    if (work.request.contiguous) {
        return "--contiguous was asked for";
    }
    std::string reason;
    const bool known = on_each_partition(work, [&](const PartitionSite& partition) {
        reason = why_not(work, partition, work.nodes, narrowing->gpus);
        if (reason.empty()) {
            const auto all = usable_nodes(work, partition, *narrowing);
            auto healthy = all;
            std::ranges::for_each(lemons, [&](auto node) { healthy.remove(node); });
            if (!can_do_with(work, partition, all, healthy)) {
                reason = fmt::format("without them partition \"{}\" has too few nodes",
                                     printable(partition.name));
            }
        }
        return reason.empty();
    });
    return known || !reason.empty() ? reason : "a partition is not known";
}

std::string exclusion(const Work& work, const std::vector<std::uint32_t>& lemons) {
    std::string text{work.request.exclude};
    for (const auto node : lemons) {
        text.append(text.empty() ? "" : ",").append(work.site.cluster.nodes[node].name);
    }
    return text;
}

}  // namespace

void apply_lemons_rule(Work& work) {
    const auto& settings = work.settings.lemons;
    if (work.site.lemons.empty() || work.nodes == 0 || work.nodes < settings.min_nodes) {
        return;
    }
    const auto* narrowing = narrowing_of(work, work.nodes);
    auto lemons = lemons_for(work, narrowing != nullptr ? narrowing->excluded
                                                        : std::vector<std::uint32_t>{});
    if (!lemons.empty() && !work.request.node_list.empty()) {
        spare_named(work, lemons);
    }
    if (lemons.empty()) {
        return;
    }
    if (const auto reason = why_needed(work, lemons); !reason.empty()) {
        work.say(rule, NoteKind::info, fmt::format("{} not avoided: {}", names_of(work, lemons), reason));
        return;
    }
    const auto mode = std::min(settings.mode, work.count_mode);
    const bool enforce = mode == Mode::enforce;
    work.say(rule, NoteKind::change,
             fmt::format("{} {}, {} that this site keeps gangs off", enforce ? "avoids" : "would avoid",
                         names_of(work, lemons), lemons.size() == 1 ? "a node" : "nodes"),
             mode);
    if (enforce) {
        work.out.changes.exclude = exclusion(work, lemons);
    }
    if (mode >= work.settings.placement.mode) {  // then the placement is planned without them
        auto& all = work.narrowing->excluded;
        all.insert(all.end(), lemons.begin(), lemons.end());
        std::ranges::sort(all);
    }
}

}  // namespace railhead::policy
