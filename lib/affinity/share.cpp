#include "affinity/share.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "affinity/cores.hpp"

namespace railhead::affinity {

namespace {

using node::Node;
using Positions = std::vector<std::size_t>;

/// The GPUs of the step that are near the same cores.
struct Group {
    CpuSet near;            ///< the granted ones
    Positions gpus;         ///< positions in the step's list
    std::size_t cores = 0;  ///< dealt to the group

    /// Cores that the GPU of the group with the fewest has.
    [[nodiscard]] std::size_t height() const { return cores / gpus.size(); }
};

/// Cores that are near the same groups.
struct Region {
    Positions groups;
    std::vector<CpuSet> cores;
    std::vector<std::size_t> dealt;  ///< how many of them each group has, beside `groups`
};

// ---- which cores are near which GPU -------------------------------------------------------

/// All CPUs of the sockets that `cpus` touches, where the node tells sockets.
CpuSet sockets_of(const Node& node, const CpuSet& cpus) {
    const auto touched = [&](const node::NumaNode& numa) {
        return std::ranges::any_of(node.numa, [&](const node::NumaNode& other) {
            return other.socket && other.socket == numa.socket && other.cpus.meets(cpus);
        });
    };
    CpuSet all;
    for (const auto& numa : node.numa) {
        if (touched(numa)) {
            all |= numa.cpus;
        }
    }
    return all;
}

CpuSet local_to_any(const Node& node) {
    CpuSet all;
    for (const auto& gpu : node.gpus) {
        all |= gpu.cpus;
    }
    return all;
}

std::vector<Group> make_groups(const Node& node, const Positions& gpus, const CpuSet& granted,
                               Reach reach) {
    const auto taken = reach == Reach::socket ? local_to_any(node) : CpuSet{};
    std::vector<Group> groups;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        auto near = node.gpus[gpus[i]].cpus;
        if (reach == Reach::socket) {
            near |= sockets_of(node, near) - taken;
        }
        near &= granted;
        auto group = std::ranges::find(groups, near, &Group::near);
        if (group == groups.end()) {
            groups.push_back({std::move(near), {}});
            group = groups.end() - 1;
        }
        group->gpus.push_back(i);
    }
    return groups;
}

std::vector<Region> make_regions(const Node& node, const std::vector<Group>& groups) {
    CpuSet all;
    for (const auto& group : groups) {
        all |= group.near;
    }
    std::vector<Region> regions;
    for (auto& core : cores_within(node, all)) {
        Positions near;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            if (groups[i].near.meets(core)) {
                near.push_back(i);
            }
        }
        auto region = std::ranges::find(regions, near, &Region::groups);
        if (region == regions.end()) {
            const auto count = near.size();
            regions.push_back({std::move(near), {}, std::vector<std::size_t>(count)});
            region = regions.end() - 1;
        }
        region->cores.push_back(std::move(core));
    }
    return regions;
}

// ---- dealing ------------------------------------------------------------------------------

/// A way by which a group can get a core: from the region, or from `from` if that gets another.
struct Step {
    std::size_t region = 0;
    std::optional<std::size_t> from;  ///< the group that gives it up
};

/// Deals the regions' cores out to the groups, one after the other.
class Dealer {
 public:
    Dealer(std::vector<Group>& groups, std::vector<Region>& regions)
        : groups_{groups}, regions_{regions} {}

    /// First the regions with one taker, where there is nothing to choose: mostly all of them.
    void deal() {
        for (auto& region : regions_) {
            if (region.groups.size() == 1) {
                region.dealt[0] = region.cores.size();
                groups_[region.groups[0]].cores += region.cores.size();
            }
        }
        for (std::size_t region = 0; region < regions_.size(); ++region) {
            const bool dealt = regions_[region].groups.size() == 1;
            for (std::size_t i = 0; !dealt && i < regions_[region].cores.size(); ++i) {
                deal_one(region);
            }
        }
    }

    /// The groups that `group` could take a core from, directly or through others, and itself.
    [[nodiscard]] Positions rivals(std::size_t group) const {
        Positions found{group};
        for (std::size_t i = 0; i < found.size(); ++i) {
            for (const auto& region : regions_) {
                if (std::ranges::count(region.groups, found[i]) > 0) {
                    add_holders(region, found);
                }
            }
        }
        return found;
    }

 private:
    static void add_holders(const Region& region, Positions& found) {
        for (std::size_t i = 0; i < region.groups.size(); ++i) {
            if (region.dealt[i] > 0 && std::ranges::count(found, region.groups[i]) == 0) {
                found.push_back(region.groups[i]);
            }
        }
    }

    std::size_t& dealt(std::size_t region, std::size_t group) {
        auto& where = regions_[region];
        const auto at = std::ranges::find(where.groups, group) - where.groups.begin();
        return where.dealt[static_cast<std::size_t>(at)];
    }

    /// Gives a core of `start` to the group that has the fewest a GPU of all that it can reach.
    void deal_one(std::size_t start) {
        std::vector<std::optional<Step>> steps(groups_.size());
        Positions reached;
        spread(start, std::nullopt, steps, reached);
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (std::size_t region = 0; region < regions_.size(); ++region) {
                const auto& groups = regions_[region].groups;
                if (std::ranges::count(groups, reached[i]) > 0 && dealt(region, reached[i]) > 0) {
                    spread(region, reached[i], steps, reached);
                }
            }
        }
        take(*std::ranges::min_element(reached, {},
                                       [&](std::size_t group) { return groups_[group].height(); }),
             steps);
    }

    void spread(std::size_t region, std::optional<std::size_t> from,
                std::vector<std::optional<Step>>& steps, Positions& reached) const {
        for (const auto group : regions_[region].groups) {
            if (!steps[group]) {
                steps[group] = Step{region, from};
                reached.push_back(group);
            }
        }
    }

    void take(std::size_t group, const std::vector<std::optional<Step>>& steps) {
        ++groups_[group].cores;
        for (std::optional<std::size_t> at = group; at;) {
            const auto& step = *steps[*at];
            ++dealt(step.region, *at);
            at = step.from;
            if (at) {
                --dealt(step.region, *at);
            }
        }
    }

    std::vector<Group>& groups_;
    std::vector<Region>& regions_;
};

/// The cores of one group: of each region its run, after those of the groups before it.
CpuSet dealt_to(std::size_t group, const std::vector<Region>& regions) {
    CpuSet cpus;
    for (const auto& region : regions) {
        std::size_t first = 0;
        for (std::size_t i = 0; i < region.groups.size(); ++i) {
            const auto last = first + region.dealt[i];
            for (; region.groups[i] == group && first < last; ++first) {
                cpus |= region.cores[first];
            }
            first = last;
        }
    }
    return cpus;
}

/// GPUs of these groups; they have fewer cores between them.
unsigned gpus_of(const Positions& members, const std::vector<Group>& groups) {
    std::size_t count = 0;
    for (const auto group : members) {
        count += groups[group].gpus.size();
    }
    return static_cast<unsigned>(count);
}

}  // namespace

std::vector<Share> share_cpus(const Node& node, const std::vector<std::size_t>& gpus,
                              const CpuSet& granted, Reach reach) {
    auto groups = make_groups(node, gpus, granted, reach);
    auto regions = make_regions(node, groups);
    Dealer dealer{groups, regions};
    dealer.deal();

    std::vector<char> scarce(groups.size());
    std::vector<unsigned> crowd(groups.size(), 1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].cores < groups[i].gpus.size() && !groups[i].near.empty()) {
            const auto rivals = dealer.rivals(i);
            for (const auto rival : rivals) {
                scarce[rival] = 1;
                crowd[rival] = std::max(crowd[rival], gpus_of(rivals, groups));
            }
        }
    }
    std::vector<Share> shares(gpus.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& group = groups[i];
        const bool alone = crowd[i] <= group.gpus.size();
        const auto cores = cores_within(node, scarce[i] != 0 ? group.near : dealt_to(i, regions));
        for (std::size_t turn = 0; turn < group.gpus.size(); ++turn) {
            // Where groups meet, a run of one would meet some of another's: each gets all instead.
            shares[group.gpus[turn]] = {
                alone ? run_of(cores, turn, group.gpus.size()) : run_of(cores, 0, 1), crowd[i]};
        }
    }
    return shares;
}

}  // namespace railhead::affinity
