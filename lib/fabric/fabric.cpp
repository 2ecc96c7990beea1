#include "fabric/fabric.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace railhead::fabric {

namespace {

bool is_leaf(const Switch& s) {
    return s.level == 0 && !s.nodes.empty();
}

}  // namespace

std::vector<std::span<const std::uint32_t>> Fabric::leaves() const {
    std::vector<std::span<const std::uint32_t>> sets;
    if (kind == Kind::tree) {
        for (const auto& s : switches) {
            if (is_leaf(s)) {
                sets.emplace_back(s.nodes);
            }
        }
    } else if (kind == Kind::block) {
        for (const auto& block : blocks) {
            if (!block.nodes.empty()) {
                sets.emplace_back(block.nodes);
            }
        }
    }
    return sets;
}

std::string_view Fabric::leaf_name(std::size_t i) const {
    for (const auto& s : switches) {
        if (kind == Kind::tree && is_leaf(s) && i-- == 0) {
            return s.name;
        }
    }
    for (const auto& block : blocks) {
        if (kind == Kind::block && !block.nodes.empty() && i-- == 0) {
            return block.name;
        }
    }
    return {};
}

std::vector<std::uint32_t> Fabric::roots() const {
    std::vector<bool> is_child(switches.size());
    for (const auto& s : switches) {
        for (const auto child : s.children) {
            is_child[child] = true;
        }
    }
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < switches.size(); ++i) {
        if (!is_child[i]) {
            indices.push_back(i);
        }
    }
    return indices;
}

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::none: return "none";
        case Kind::tree: return "tree";
        case Kind::block: return "block";
        case Kind::flat: return "flat";
        case Kind::ring: return "ring";
        case Kind::torus3d: return "torus3d";
    }
    return "?";
}

void choose_kind(Fabric& fabric, std::string_view plugin) {
    if (plugin.ends_with("tree") && !fabric.switches.empty()) {
        fabric.kind = Kind::tree;
    } else if (plugin.ends_with("block") && !fabric.blocks.empty()) {
        fabric.kind = Kind::block;
    }
    if (fabric.leaves().empty()) {
        fabric.kind = Kind::none;
    }
}

std::string level_word(Kind kind, unsigned level, std::uint64_t count) {
    const bool block = kind == Kind::block;
    const auto which = level > 0 ? fmt::format("level-{} ", level) : std::string{block ? "" : "leaf "};
    return which + (block ? "block" : "switch") + (count == 1 ? "" : block ? "s" : "es");
}

}  // namespace railhead::fabric
