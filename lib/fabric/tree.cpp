#include "fabric/tree.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

/// Slurm gives up on a deeper tree.
constexpr unsigned max_levels = 20;

tl::unexpected<Error> too_large(const Position& where) {
    return fail(Errc::bad_input, "more nodes below all switches together than any cluster has",
                where);
}

/// Turns names into indices, once all switches are known.
Result<> find_children(Fabric& fabric, std::span<const ChildList> lists) {
    std::unordered_map<std::string_view, std::uint32_t> index;
    for (std::uint32_t i = 0; i < fabric.switches.size(); ++i) {
        index.emplace(fabric.switches[i].name, i);
    }
    for (const auto& list : lists) {
        auto& parent = fabric.switches[list.parent];
        for (const auto& name : list.names) {
            const auto child = index.find(name);
            if (child == index.end() || child->second == list.parent) {
                return fail(Errc::bad_input,
                            fmt::format("switch \"{}\" names the child \"{}\", which is {}",
                                        printable(parent.name), printable(name),
                                        child == index.end() ? "not in this file" : "itself"),
                            list.where);
            }
            parent.children.push_back(child->second);
        }
        std::ranges::sort(parent.children);
        parent.children.erase(std::unique(parent.children.begin(), parent.children.end()),
                              parent.children.end());
    }
    return {};
}

/// Takes level and nodes of a switch from its children, which have theirs.
void sum_up(Fabric& fabric, std::uint32_t index) {
    auto& parent = fabric.switches[index];
    for (const auto child : parent.children) {
        const auto& below = fabric.switches[child];
        parent.level = std::max(parent.level, below.level + 1);
        parent.nodes.insert(parent.nodes.end(), below.nodes.begin(), below.nodes.end());
    }
    if (!std::ranges::is_sorted(parent.nodes)) {
        std::ranges::sort(parent.nodes);
    }
    parent.nodes.erase(std::unique(parent.nodes.begin(), parent.nodes.end()), parent.nodes.end());
}

/// Who waits for whom: the parents of each switch, and how many children it waits for.
struct Waiting {
    std::vector<std::vector<std::uint32_t>> parents;
    std::vector<std::size_t> children;
    std::vector<std::uint32_t> ready;  ///< switches that wait for none
};

Waiting find_waiting(const Fabric& fabric) {
    Waiting waiting;
    waiting.parents.resize(fabric.switches.size());
    for (std::uint32_t i = 0; i < fabric.switches.size(); ++i) {
        const auto& children = fabric.switches[i].children;
        waiting.children.push_back(children.size());
        if (children.empty()) {
            waiting.ready.push_back(i);
        }
        for (const auto child : children) {
            waiting.parents[child].push_back(i);
        }
    }
    return waiting;
}

/// Takes the next switch whose children are all done, and sums it up.
Result<> settle(Fabric& fabric, Waiting& waiting, std::size_t& references,
                std::span<const Position> where) {
    const auto index = waiting.ready.back();
    waiting.ready.pop_back();
    for (const auto child : fabric.switches[index].children) {
        references += fabric.switches[child].nodes.size();
    }
    if (references > max_references) {
        return too_large(where[index]);
    }
    sum_up(fabric, index);
    if (fabric.switches[index].level > max_levels) {
        return fail(Errc::bad_input, fmt::format("more than {} levels of switches", max_levels),
                    where[index]);
    }
    for (const auto parent : waiting.parents[index]) {
        if (--waiting.children[parent] == 0) {
            waiting.ready.push_back(parent);
        }
    }
    return {};
}

}  // namespace

Result<> join_switches(Fabric& fabric, std::span<const ChildList> lists) {
    if (auto found = find_children(fabric, lists); !found) {
        return found;
    }
    std::vector<Position> where(fabric.switches.size());
    for (const auto& list : lists) {
        where[list.parent] = list.where;
    }
    auto waiting = find_waiting(fabric);
    std::size_t references = 0;
    while (!waiting.ready.empty()) {
        if (auto done = settle(fabric, waiting, references, where); !done) {
            return done;
        }
    }
    for (std::uint32_t i = 0; i < fabric.switches.size(); ++i) {
        if (waiting.children[i] > 0) {
            return fail(Errc::bad_input,
                        fmt::format("switch \"{}\" is in or above a circle of switches",
                                    printable(fabric.switches[i].name)),
                        where[i]);
        }
    }
    return {};
}

}  // namespace railhead::fabric
