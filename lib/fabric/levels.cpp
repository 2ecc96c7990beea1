#include "fabric/levels.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace railhead::fabric {

namespace {

constexpr std::uint32_t no_leaf = UINT32_MAX;

/// By switch: its index among the leaves, or no_leaf.
std::vector<std::uint32_t> leaf_numbers(const Fabric& fabric) {
    std::vector<std::uint32_t> numbers(fabric.switches.size(), no_leaf);
    std::uint32_t leaf = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (fabric.switches[i].level == 0 && !fabric.switches[i].nodes.empty()) {
            numbers[i] = leaf++;
        }
    }
    return numbers;
}

/// Collects what lies below a switch; `seen` marks the switches that this root has met.
class Walk {
 public:
    explicit Walk(const Fabric& fabric)
        : fabric_{fabric}, numbers_{leaf_numbers(fabric)}, seen_(fabric.switches.size()) {}

    std::vector<std::uint32_t> leaves_below(std::uint32_t root) {
        ++round_;
        std::vector<std::uint32_t> leaves;
        std::vector<std::uint32_t> open{root};
        while (!open.empty()) {
            const auto index = open.back();
            open.pop_back();
            if (std::exchange(seen_[index], round_) == round_) {
                continue;
            }
            if (numbers_[index] != no_leaf) {
                leaves.push_back(numbers_[index]);
            }
            const auto& children = fabric_.switches[index].children;
            open.insert(open.end(), children.begin(), children.end());
        }
        std::ranges::sort(leaves);
        return leaves;
    }

 private:
    const Fabric& fabric_;
    std::vector<std::uint32_t> numbers_;
    std::vector<std::uint32_t> seen_;
    std::uint32_t round_ = 0;
};

/// Sets that grow together.
class Groups {
 public:
    explicit Groups(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }
    std::uint32_t find(std::uint32_t member) {
        while (parent_[member] != member) {
            member = parent_[member] = parent_[parent_[member]];
        }
        return member;
    }
    void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }

 private:
    std::vector<std::uint32_t> parent_;
};

/// Numbers the groups that the leaves are in now, in the order of the leaves.
LevelGroups number_groups(unsigned level, Groups& groups,
                          const std::vector<std::uint32_t>& leaf_number) {
    LevelGroups numbered;
    numbered.level = level;
    std::vector<std::uint32_t> number(leaf_number.size(), no_leaf);
    for (std::uint32_t i = 0; i < leaf_number.size(); ++i) {
        if (leaf_number[i] != no_leaf) {
            auto& group = number[groups.find(i)];
            if (group == no_leaf) {
                group = numbered.groups++;
            }
            numbered.group_of.push_back(group);
        }
    }
    return numbered;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> find_networks(const Fabric& fabric) {
    const auto leaves = static_cast<std::uint32_t>(fabric.leaves().size());
    if (fabric.kind != Kind::tree) {
        std::vector<std::uint32_t> all(leaves);
        std::iota(all.begin(), all.end(), 0U);
        return {std::move(all)};
    }
    std::vector<std::vector<std::uint32_t>> sets;
    Walk walk{fabric};
    for (const auto root : fabric.roots()) {
        if (auto below = walk.leaves_below(root); !below.empty()) {
            sets.push_back(std::move(below));
        }
    }
    std::ranges::stable_sort(sets, {}, [](const auto& set) { return -std::ssize(set); });
    std::vector<std::vector<std::uint32_t>> networks;
    std::vector<std::vector<std::size_t>> networks_with(leaves);  // by leaf
    for (auto& set : sets) {
        const bool within = std::ranges::any_of(networks_with[set.front()], [&](auto network) {
            return std::ranges::includes(networks[network], set);
        });
        if (!within) {
            for (const auto leaf : set) {
                networks_with[leaf].push_back(networks.size());
            }
            networks.push_back(std::move(set));
        }
    }
    return networks;
}

namespace {

std::vector<LevelGroups> tree_levels(const Fabric& fabric) {
    std::vector<LevelGroups> levels;
    std::vector<std::uint32_t> by_level(fabric.switches.size());
    std::iota(by_level.begin(), by_level.end(), 0U);
    std::ranges::stable_sort(by_level, {}, [&](auto i) { return fabric.switches[i].level; });
    const auto leaf_number = leaf_numbers(fabric);
    Groups groups{fabric.switches.size()};
    auto groups_below = static_cast<std::uint32_t>(fabric.leaves().size());
    for (auto at = by_level.begin(); at != by_level.end();) {
        const auto level = fabric.switches[*at].level;
        for (; at != by_level.end() && fabric.switches[*at].level == level; ++at) {
            for (const auto child : fabric.switches[*at].children) {
                groups.join(child, *at);
            }
        }
        auto numbered = number_groups(level, groups, leaf_number);
        if (level > 0 && numbered.groups < groups_below) {
            groups_below = numbered.groups;
            levels.push_back(std::move(numbered));
        }
    }
    // The last one joins all that is joined at all: the networks, not a level of them.
    if (!levels.empty()) {
        levels.pop_back();
    }
    return levels;
}

std::vector<LevelGroups> block_levels(const Fabric& fabric) {
    std::vector<LevelGroups> levels;
    for (unsigned level = 1; level < fabric.block_sizes.size(); ++level) {
        const auto blocks = fabric.block_sizes[level] / fabric.block_sizes.front();
        if (blocks >= fabric.blocks.size()) {
            break;  // one holds all
        }
        LevelGroups groups;
        groups.level = level;
        std::uint32_t last = UINT32_MAX;
        for (std::uint32_t i = 0; i < fabric.blocks.size(); ++i) {
            if (!fabric.blocks[i].nodes.empty()) {
                groups.groups += std::exchange(last, i / blocks) == i / blocks ? 0 : 1;
                groups.group_of.push_back(groups.groups - 1);
            }
        }
        if (groups.groups < groups.group_of.size()) {
            levels.push_back(std::move(groups));
        }
    }
    return levels;
}

}  // namespace

std::vector<LevelGroups> find_levels(const Fabric& fabric) {
    switch (fabric.kind) {
        case Kind::tree: return tree_levels(fabric);
        case Kind::block: return block_levels(fabric);
        default: return {};
    }
}

}  // namespace railhead::fabric
